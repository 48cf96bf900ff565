"""Recording a turn, from whatever framework runs it."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType

from sapwood.api.handle import Handle
from sapwood.api.text import canonical, clean, cleaned
from sapwood.conversation.model_requests import manifest_for, request_for
from sapwood.core.commands import (
    AddReply,
    CompleteTurn,
    FailTurn,
    FinishTool,
    InterruptTurn,
    StartTool,
    StartTurn,
)
from sapwood.core.content import (
    Ended,
    Got,
    PromptPart,
    ReplyPart,
    Said,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import SYSTEM, Actor
from sapwood.core.refusals import NoTurnOpen, StaleRequest
from sapwood.core.view import Request

__all__ = ["TurnRecorder", "item_of", "prompt_of"]

_TRIES = 10


def prompt_of(prompt: str | Sequence[PromptPart]) -> tuple[PromptPart, ...]:
    """A prompt as the log takes it."""
    return tuple(cleaned(part) for part in ([Text(prompt)] if isinstance(prompt, str) else prompt))


def item_of(item: str | Said | Got) -> Said | Got:
    """A reply or a result as the log takes it; a plain text is a reply."""
    if isinstance(item, Got):
        return cleaned(item)
    said = Said((Text(item),)) if isinstance(item, str) else item
    return Said(tuple(cleaned(part) for part in said.parts), clean(said.model), said.usage)


class TurnRecorder:
    """One turn being recorded; made by `Agent.turn`.

    Leaving the block completes the turn. An exception fails it, a cancellation or Ctrl-C
    interrupts it, and both keep what was there.

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

    def __init__(self, agent: Handle, prompt: str | Sequence[PromptPart] | None) -> None:
        self._agent = agent
        self._prompt = None if prompt is None else prompt_of(prompt)
        self._turn = 0
        self._asked = 0

    async def __aenter__(self) -> "TurnRecorder":
        agent = self._agent
        if self._prompt is not None:
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
            await self._give_up(error)
            return
        try:
            await self._agent.do(CompleteTurn(self._agent.id, turn=self._turn), SYSTEM)
        except RefusedError as refused:
            await self._give_up(refused)
            raise

    async def call(
        self,
        model: str | None = None,
        *,
        params: Mapping[str, object] | None = None,
        tools: Sequence[object] = (),
    ) -> Request:
        """The request to send now. Its manifest is stored first, so that it can be replayed.

        `params` and `tools` are what is sent beside it: parameters are stored as they are, tool
        schemas as their hash and size.
        """
        schemas = canonical(tools) if tools else ""
        for _ in range(_TRIES):
            request = await request_for(self._agent.connection, self._agent.id, model)
            manifest = manifest_for(
                self._agent.connection,
                self._agent.id,
                request,
                params=canonical(params or {}),
                tools=schemas,
            )
            try:
                stored = await self._agent.do(manifest, SYSTEM)
                self._asked = stored.events[-1].version
                return request
            except RefusedError as refused:  # somebody set a pin in between, say
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
        """The model's message. Reported `usage` teaches the token counter about this model.

        Say how it `ended` where that was at the limit of its length ("length") or by the provider's
        filter ("refused"): its last part is then incomplete, and the model is told so.
        """
        thought = Thinking(thinking) if isinstance(thinking, str) else thinking
        parts: list[ReplyPart] = [thought] if thought.text or thought.signature else []
        parts += [Text(text)] if text else []
        said = tuple(cleaned(part) for part in (*parts, *calls))
        command = AddReply(
            self._agent.id, said, clean(model), usage, self._asked, ended, turn=self._turn
        )
        await self._agent.do(command, Actor("model", clean(model)))
        self._asked = 0

    async def started(self, call: str) -> None:
        """A tool is about to have effects: recorded first, so that a crash does not repeat it."""
        await self._agent.do(StartTool(self._agent.id, clean(call), turn=self._turn), SYSTEM)

    async def result(self, call: str, content: str, *, error: bool = False) -> None:
        """What a tool gave back."""
        finish = FinishTool(self._agent.id, clean(call), clean(content), error, turn=self._turn)
        await self._agent.do(finish, SYSTEM)

    async def _give_up(self, error: BaseException) -> None:
        """Ends the turn because of an error, which stays the one that the caller sees."""
        agent = self._agent.id
        if isinstance(error, Exception):
            command = FailTurn(agent, clean(f"{type(error).__name__}: {error}"), turn=self._turn)
        else:
            command = InterruptTurn(agent, "cancelled", turn=self._turn)
        try:
            with suppress(RefusedError):  # somebody else ended the turn already
                await asyncio.shield(self._agent.do(command, SYSTEM))
        except LogError as further:
            error.add_note(f"The turn is still open in the log: {further}")
