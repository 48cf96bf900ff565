"""The class `TurnRecorder`: records a turn that another program or framework runs."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import Literal

from msgspec import structs

from sapwood.api.arguments import (
    canonical,
    choice,
    flag,
    items,
    label,
    number,
    optional,
    prompt_parts,
    who,
)
from sapwood.api.arguments import text as words
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.conversation.model_requests import (
    RequestWords,
    lease_for,
    manifest_for,
    new_holder,
    request_for,
)
from sapwood.conversation.prompt_files import read_pins_again
from sapwood.conversation.service import ConversationService
from sapwood.core import commands
from sapwood.core.content import (
    Ended,
    File,
    PromptPart,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import HUMAN, SYSTEM, Actor
from sapwood.core.ids import AgentId
from sapwood.core.lease import Lease
from sapwood.core.refusals import BadValue, NoTurnOpen, StaleRequest
from sapwood.core.view import Request
from sapwood.turns.command_batch import request_text
from sapwood.turns.dispatch import Done
from sapwood.turns.open_agent import OpenAgent

_log = logging.getLogger("sapwood.pins")
_turns = logging.getLogger("sapwood.turns")
_WORDS: tuple[Literal["text", "thinking"], ...] = ("text", "thinking")


class AgentHandle:
    """The base of `Agent`: a connection, the id of an agent, and a method for any command."""

    def __init__(self, connection: Connection, agent: AgentId) -> None:
        self.connection = connection
        self.id = agent

    @cached_property
    def service(self) -> ConversationService:
        """The conversation service of the space of the agent. It calls no model."""
        return offline_service(self.connection, Config())

    async def do(
        self,
        command: commands.Command,
        actor: Actor = HUMAN,
        *,
        call: str | None = None,
        command_id: str | None = None,
        holder: str = "",
    ) -> Done:
        """Runs any command of `sapwood.core.commands` and returns its message and events.

        `actor` is who runs it, and `call` the tool call if a model does. A command whose
        `command_id` was used before is not run again: the first result is returned, so that a
        command that timed out can be repeated. `holder` is the name under which you have the lease
        of the open turn. Raises `RefusedError`.
        """
        return await self.service.dispatch(
            command, actor, call=call, command_id=command_id, holder=holder
        )

    async def opened(self) -> OpenAgent:
        """Returns the state of the agent and the turns in its context."""
        return await self.connection.dispatcher.open(self.id)


_TRIES = 10
_LEASE = 60.0
_RENEWALS = 3
"""How often a lease is renewed before it would end."""


class TurnRecorder:
    """Records one turn. `Agent.turn` returns it.

    Leaving the block completes the turn. An exception marks it as failed, and a cancellation or
    Ctrl-C as interrupted; what was recorded before stays. Inside the block this process has the
    lease of the turn, which it renews: no worker and no other process can change the turn, except
    to interrupt it. Every method raises `RefusedError` if the turn has ended, or if the lease ended
    and another process took the turn up.

    >>> import asyncio, sapwood
    >>> async def main() -> None:
    ...     async with sapwood.open(":memory:") as db:
    ...         agent = await db.start("weather")
    ...         async with agent.turn("Is it cold in Oslo?") as turn:
    ...             await turn.reply(calls=[sapwood.ToolCall("1", "weather", '{"city": "Oslo"}')])
    ...             await turn.result("1", "-3 degrees")
    ...             await turn.reply("Yes, -3 degrees.")
    ...         print(len((await agent.request()).messages))
    >>> asyncio.run(main())
    4
    """

    def __init__(
        self,
        agent: AgentHandle,
        prompt: str | Sequence[PromptPart] | None,
        *,
        lease: float = _LEASE,
        take_over: bool = False,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> None:
        self._agent = agent
        self._prompt = None if prompt is None else prompt_parts(prompt)
        self._seconds = number(lease, "lease")
        self._take_over = flag(take_over, "take_over")
        self._command_id = command_id
        self._actor = who(actor)
        self._holder = new_holder()
        self._turn = 0
        self._called_at = 0
        self._called = ""
        self._stream: RequestWords | None = None
        self._arrived: RequestWords | None = None
        """The words of the reply that is given next, after its stream was closed."""
        self._renewal: asyncio.Task[None] | None = None
        self._has_ended = False

    @property
    def version(self) -> int:
        """The version of the log at which the turn starts."""
        return self._turn

    async def __aenter__(self) -> "TurnRecorder":
        starting = asyncio.ensure_future(self._start())
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError as cancelled:  # the start may be stored all the same
            await asyncio.shield(self._end_when_started(starting, cancelled))
            raise
        self._renewal = asyncio.ensure_future(self._renew())
        return self

    async def _start(self) -> None:
        """Starts the turn, or takes it up."""
        agent = self._agent
        if self._prompt is not None:
            state = (await agent.opened()).state
            if any(pin.source for pin in state.pins):
                notice = await read_pins_again(agent.service.services, state)
                if notice:
                    _log.warning("%s", notice)
            start = commands.StartTurn(agent.id, self._prompt, lease=self._lease())
            started = await self._do(start, self._actor, self._command_id)
            self._turn = started.events[-1].version
            if started.repeated:  # the first process may have died, and its lease may have ended
                await self._take_up()
        elif (opened := (await agent.opened()).state.open) is not None:
            self._turn = opened.first
            await self._take_up()
        else:
            raise RefusedError(NoTurnOpen())

    async def _end_when_started(
        self, starting: "asyncio.Future[None]", cancelled: asyncio.CancelledError
    ) -> None:
        with suppress(RefusedError, LogError):  # then there is no turn of ours
            await starting
            await self._end_with(cancelled)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
        if error is not None:
            await self._end_with(error)
            return
        if self._has_ended:
            return
        try:
            await self._flush()
            await self._do(commands.CompleteTurn(self._agent.id, turn=self._turn))
        except RefusedError as refused:
            await self._end_with(refused)
            raise

    async def _do(
        self,
        command: commands.Command,
        actor: Actor = SYSTEM,
        command_id: str | None = None,
        request: str = "",
    ) -> Done:
        return await self._agent.service.dispatch(
            command, actor, command_id=command_id, holder=self._holder, request=request
        )

    def _lease(self) -> Lease:
        return lease_for(self._holder, self._seconds)

    async def _take_up(self) -> None:
        take = commands.LeaseTurn(self._agent.id, self._lease(), self._take_over, turn=self._turn)
        await self._agent.do(take, SYSTEM)  # no lease was had before

    async def _renew(self) -> None:
        """Renews the lease until the turn has ended or another process took it up."""
        while True:
            await asyncio.sleep(self._seconds / _RENEWALS)
            try:
                await self._do(commands.LeaseTurn(self._agent.id, self._lease(), turn=self._turn))
            except RefusedError:
                return
            except LogError as problem:
                _turns.info("Could not renew a turn's lease; trying again later: %s", problem)

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
                stored = await self._do(manifest)
                self._called_at, self._called = stored.events[-1].version, request.model
                return request
            except RefusedError as refused:  # the context changed, for example by a new pin
                if not isinstance(refused.refusal, StaleRequest):
                    raise
        raise RefusedError(StaleRequest())

    async def reply(
        self,
        text: str = "",
        *,
        parts: Sequence[ReplyPart] = (),
        calls: Sequence[ToolCall] = (),
        thinking: str | Thinking = "",
        model: str = "",
        usage: Usage | None = None,
        ended: Ended = "done",
        command_id: str | None = None,
    ) -> None:
        """Records a reply of the model: its `text`, its tool `calls` and its `thinking`.

        `parts` are all parts in the order in which the model sent them, with any number of thoughts
        and files: `Text`, `Thinking`, `ToolCall`, `File`. Give either them or the other three. Then
        thinking comes first, unless `delta` was given the same words in another order.

        `model` is the model that replied. `usage` is the usage that the provider reported; it also
        calibrates the token counter for this model. `ended` is "length" if the reply was cut at its
        largest length and "refused" if a filter of the provider stopped it. The next request then
        says that the reply is incomplete. The same `command_id` given twice records one reply.
        """
        content, name = words(text, "text"), label(model, "model")
        given, called = items(parts, "parts"), items(calls, "calls")
        thoughts = _thinking_parts(thinking)
        if given and (content or called or thoughts):
            raise RefusedError(BadValue("parts", "given alone", "parts with text or calls"))
        said: Sequence[ReplyPart] = [*thoughts, *([Text(content)] if content else [])]
        asked = (self._agent.id, self._turn, given, said, called, name, usage, ended)
        await self._close_stream()
        if self._arrived is not None:
            said = self._arrived.ordered(said)
        reply = tuple(given) or (*said, *called)
        command = commands.AddReply(
            self._agent.id, reply, name, usage, self._called_at, ended, turn=self._turn
        )
        # Another process that repeats it does not know in which order the words arrived.
        request = request_text("reply", *asked) if command_id is not None else ""
        await self._do(command, Actor("model", name), command_id, request)
        self._called_at, self._arrived = 0, None

    async def delta(self, text: str, *, kind: Literal["text", "thinking"] = "text") -> None:
        """Stores words of a reply while they arrive, so that followers see them at once.

        Call it after `call()`, for each piece that the provider sends, then `reply` with the whole
        reply. If the turn is interrupted or fails before, the words so far stay in the log and in
        the next request. The words are stored a few times each second; a secret in them is masked.
        """
        piece, is_thinking = words(text, "text"), choice(kind, "kind", _WORDS) == "thinking"
        if self._stream is None:
            self._stream = RequestWords(
                self._agent.connection,
                self._agent.id,
                self._turn,
                self._called_at,
                self._called,
                self._holder,
            )
        self._stream.add(piece, is_thinking=is_thinking)

    async def fail(self, reason: str | BaseException) -> None:
        """Marks the turn as failed and ends it; what was recorded before stays.

        `reason` is text or an exception, of which the class and the message are stored, with
        secrets masked. The model gets it as a note with the next prompt, and never as its own
        words. After it, no method but leaving the block is allowed.
        """
        error = (
            _error_text(reason) if isinstance(reason, BaseException) else words(reason, "reason")
        )
        await self._flush()
        await self._do(commands.FailTurn(self._agent.id, error, turn=self._turn))
        self._has_ended = True

    async def started(self, call: str, *, command_id: str | None = None) -> None:
        """Records that a tool is about to run, so that it is not run again after a crash.

        `call` is the id of the tool call.
        """
        await self._do(
            commands.StartTool(self._agent.id, call, turn=self._turn), command_id=command_id
        )

    async def result(
        self,
        call: str,
        content: str,
        *,
        error: bool = False,
        files: Sequence[File] = (),
        command_id: str | None = None,
    ) -> None:
        """Records the result of the tool call with the id `call`; `error` says that it failed.

        `files` are images and other files that the tool returned beside its text `content`.
        """
        attached = tuple(items(files, "files"))
        finish = commands.FinishTool(
            self._agent.id, call, content, error, files=attached, turn=self._turn
        )
        await self._do(finish, command_id=command_id)

    async def _flush(self) -> None:
        """Stores the words that have arrived and belong to no reply yet."""
        if self._stream is not None:
            await self._stream.flush()
        await self._close_stream()

    async def _close_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            self._arrived = stream
            await stream.close()

    async def _end_with(self, error: BaseException) -> None:
        """Marks the turn as failed or interrupted. Raises nothing: the caller gets `error`."""
        if self._has_ended:
            return
        agent = self._agent.id
        if isinstance(error, Exception):
            command = commands.FailTurn(agent, _error_text(error), turn=self._turn)
        else:
            command = commands.InterruptTurn(agent, "cancelled", turn=self._turn)
        try:
            with suppress(RefusedError):  # another process has ended the turn, or took it up
                await asyncio.shield(self._ended_by(command))
        except LogError as further:
            error.add_note(f"The turn is still open in the log: {further}")

    async def _ended_by(self, command: commands.Command) -> None:
        await self._flush()
        await self._do(command)


def _thinking_parts(thinking: object) -> list[ReplyPart]:
    """Returns the thinking of the model as a part of its reply, if there is any."""
    thought = thinking if isinstance(thinking, Thinking) else Thinking(words(thinking, "thinking"))
    content, signature = words(thought.text, "thinking"), words(thought.signature, "thinking")
    if not content and not signature:
        return []
    return [structs.replace(thought, text=content, signature=signature)]


def _error_text(error: BaseException) -> str:
    """Returns the class and the message of an error, even if its `__str__` fails."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # the error of another program may raise anything
        return type(error).__name__
