"""The class `TurnRecorder`: records a turn that another program or framework runs."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType

from msgspec import structs

from sapwood.api.arguments import canonical, items, label, optional, prompt_parts
from sapwood.api.arguments import text as words
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.conversation.model_requests import manifest_for, request_for
from sapwood.conversation.pinned_files import read_pins_again
from sapwood.conversation.service import ConversationService
from sapwood.core.commands import (
    AddReply,
    Command,
    CompleteTurn,
    FailTurn,
    FinishTool,
    InterruptTurn,
    StartTool,
    StartTurn,
)
from sapwood.core.content import Ended, PromptPart, ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import HUMAN, SYSTEM, Actor
from sapwood.core.ids import AgentId
from sapwood.core.refusals import NoTurnOpen, StaleRequest
from sapwood.core.view import Request
from sapwood.runtime.dispatch import Done
from sapwood.runtime.open_agent import OpenAgent

__all__ = ["AgentHandle", "TurnRecorder"]

_log = logging.getLogger("sapwood.pins")


class AgentHandle:
    """The base of `Agent`: a connection, the id of an agent, and a method for any command."""

    def __init__(self, connection: Connection, agent: AgentId) -> None:
        self.connection = connection
        self.id = agent

    @property
    def service(self) -> ConversationService:
        """The conversation service of the space of the agent. It calls no model."""
        return offline_service(self.connection, Config())

    async def do(
        self,
        command: Command,
        actor: Actor = HUMAN,
        *,
        call: str | None = None,
        command_id: str | None = None,
    ) -> Done:
        """Runs any command of `sapwood.core.commands` and returns its message and events.

        `actor` is who runs it, and `call` the tool call if a model does. A command whose
        `command_id` was used before is not run again: the first result is returned, so that a
        command that timed out can be repeated. Raises `RefusedError`.
        """
        return await self.service.dispatch(command, actor, call=call, command_id=command_id)

    async def opened(self) -> OpenAgent:
        """Returns the state of the agent and the turns in its context."""
        return await self.connection.dispatcher.open(self.id)


_TRIES = 10


class TurnRecorder:
    """Records one turn. `Agent.turn` returns it.

    Leaving the block completes the turn. An exception marks it as failed, and a cancellation or
    Ctrl-C as interrupted; what was recorded before stays. Every method raises `RefusedError` if the
    turn has ended.

    >>> import asyncio, sapwood
    >>> async def main() -> None:
    ...     async with sapwood.open(":memory:") as wood:
    ...         agent = await wood.start("weather")
    ...         async with agent.turn("Is it cold in Oslo?") as turn:
    ...             await turn.reply(calls=[sapwood.ToolCall("1", "weather", '{"city": "Oslo"}')])
    ...             await turn.result("1", "-3 degrees")
    ...             await turn.reply("Yes, -3 degrees.")
    ...         print(len((await agent.request()).messages))
    >>> asyncio.run(main())
    4
    """

    def __init__(self, agent: AgentHandle, prompt: str | Sequence[PromptPart] | None) -> None:
        self._agent = agent
        self._prompt = None if prompt is None else prompt_parts(prompt)
        self._turn = 0
        self._called_at = 0

    async def __aenter__(self) -> "TurnRecorder":
        agent = self._agent
        if self._prompt is not None:
            state = (await agent.opened()).state
            if any(pin.source for pin in state.pins):
                notice = await read_pins_again(agent.service.services, state)
                if notice:
                    _log.warning("%s", notice)
            with agent.connection.own_turn(agent.id):
                started = await agent.do(StartTurn(agent.id, self._prompt))
            self._turn = started.events[-1].version
        elif (opened := (await agent.opened()).state.open) is not None:
            self._turn = opened.first
        else:
            raise RefusedError(NoTurnOpen())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            await self._end_with(error)
            return
        try:
            await self._agent.do(CompleteTurn(self._agent.id, turn=self._turn), SYSTEM)
        except RefusedError as refused:
            await self._end_with(refused)
            raise

    async def call(
        self,
        model: str | None = None,
        *,
        params: Mapping[str, object] | None = None,
        tools: Sequence[object] = (),
    ) -> Request:
        """Returns the request to send to the model now, after storing its hash for `replay`.

        `model` replaces the model of the agent. `params` are parameters of the call, which are
        stored. `tools` are tool schemas, of which the hash and the size are stored.
        """
        name = optional(label, model, "model")
        given_tools = items(tools, "tools")
        schemas = canonical(given_tools, "tools") if given_tools else ""
        sent = canonical({} if params is None else params, "params")
        for _ in range(_TRIES):
            request = await request_for(self._agent.connection, self._agent.id, name)
            manifest = manifest_for(
                self._agent.connection,
                self._agent.id,
                request,
                params=sent,
                tools=schemas,
            )
            try:
                stored = await self._agent.do(manifest, SYSTEM)
                self._called_at = stored.events[-1].version
                return request
            except RefusedError as refused:  # the context changed, for example by a new pin
                if not isinstance(refused.refusal, StaleRequest):
                    raise
        raise RefusedError(StaleRequest())

    async def reply(
        self,
        text: str = "",
        *,
        calls: Sequence[ToolCall] = (),
        thinking: str | Thinking = "",
        model: str = "",
        usage: Usage | None = None,
        ended: Ended = "done",
    ) -> None:
        """Records a reply of the model: its `text`, its tool `calls` and its `thinking`.

        `model` is the model that replied. `usage` is the usage that the provider reported; it also
        calibrates the token counter for this model. `ended` is "length" if the reply was cut at its
        largest length and "refused" if a filter of the provider stopped it. The next request then
        says that the reply is incomplete.
        """
        content, name = words(text, "text"), label(model, "model")
        parts = _thinking_parts(thinking)
        parts += [Text(content)] if content else []
        reply = (*parts, *items(calls, "calls"))
        command = AddReply(
            self._agent.id, reply, name, usage, self._called_at, ended, turn=self._turn
        )
        await self._agent.do(command, Actor("model", name))
        self._called_at = 0

    async def started(self, call: str) -> None:
        """Records that a tool is about to run, so that it is not run again after a crash.

        `call` is the id of the tool call.
        """
        await self._agent.do(StartTool(self._agent.id, call, turn=self._turn), SYSTEM)

    async def result(self, call: str, content: str, *, error: bool = False) -> None:
        """Records the result of the tool call with the id `call`; `error` says that it failed."""
        finish = FinishTool(self._agent.id, call, content, error, turn=self._turn)
        await self._agent.do(finish, SYSTEM)

    async def _end_with(self, error: BaseException) -> None:
        """Marks the turn as failed or interrupted. Raises nothing: the caller gets `error`."""
        agent = self._agent.id
        if isinstance(error, Exception):
            command = FailTurn(agent, _error_text(error), turn=self._turn)
        else:
            command = InterruptTurn(agent, "cancelled", turn=self._turn)
        try:
            with suppress(RefusedError):  # another process has ended the turn
                await asyncio.shield(self._agent.do(command, SYSTEM))
        except LogError as further:
            error.add_note(f"The turn is still open in the log: {further}")


def _thinking_parts(thinking: object) -> list[ReplyPart]:
    """Returns the thinking of the model as a part of its reply, if there is any."""
    thought = thinking if isinstance(thinking, Thinking) else Thinking(words(thinking, "thinking"))
    content, signature = words(thought.text, "thinking"), words(thought.signature, "thinking")
    if not content and not signature:
        return []
    return [structs.replace(thought, text=content, signature=signature)]


def _error_text(error: Exception) -> str:
    """Returns the class and the message of an error, even if its `__str__` fails."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # the error of another program may raise anything
        return type(error).__name__
