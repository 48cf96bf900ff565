"""Recording a turn, from whatever framework runs it."""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType

from sapwood.api.arguments import canonical, items, label, optional, prompt_of
from sapwood.api.arguments import text as words
from sapwood.api.handle import Handle
from sapwood.core.commands import (
    AddReply,
    CallModel,
    CompleteTurn,
    FailTurn,
    FinishTool,
    InterruptTurn,
    StartTool,
    StartTurn,
)
from sapwood.core.content import (
    Ended,
    PromptPart,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import SYSTEM, Actor
from sapwood.core.measure import count_texts
from sapwood.core.refusals import NoTurnOpen, StaleRequest
from sapwood.core.view import Request, check, view
from sapwood.core.view.request import digest

__all__ = ["TurnRecorder"]

_TRIES = 10


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
        named = optional(label, model, "model")
        offering = items(tools, "tools")
        schemas = canonical(offering, "tools") if offering else ""
        sent = canonical({} if params is None else params, "params")
        for _ in range(_TRIES):
            request = await self._built(named)
            offered = self._counted(request.model, [schemas])
            manifest = CallModel(
                self._agent.id,
                request.model,
                digest(request),
                estimate=self._counted(request.model, request.texts()) + offered,
                params=sent,
                tools=hashlib.sha256(schemas.encode()).hexdigest() if schemas else "",
                offered=offered,
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
        spoken, named = words(text, "text"), label(model, "model")
        parts = _thought(thinking)
        parts += [Text(spoken)] if spoken else []
        said = (*parts, *items(calls, "calls"))
        command = AddReply(self._agent.id, said, named, usage, self._asked, ended, turn=self._turn)
        await self._agent.do(command, Actor("model", named))
        self._asked = 0

    async def started(self, call: str) -> None:
        """A tool is about to have effects: recorded first, so that a crash does not repeat it."""
        await self._agent.do(StartTool(self._agent.id, call, turn=self._turn), SYSTEM)

    async def result(self, call: str, content: str, *, error: bool = False) -> None:
        """What a tool gave back."""
        finish = FinishTool(self._agent.id, call, content, error, turn=self._turn)
        await self._agent.do(finish, SYSTEM)

    async def _built(self, model: str | None) -> Request:
        opened = await self._agent.opened()
        request = view(opened.state, opened.live, model)
        faults = check(request, opened.state, opened.live)
        if faults:
            raise AssertionError(f"a defect in Sapwood: {'; '.join(faults)}")
        return request

    def _counted(self, model: str, texts: Iterable[str]) -> int:
        return count_texts(texts, self._agent.connection.counter_for(model))

    async def _give_up(self, error: BaseException) -> None:
        """Ends the turn because of an error, which stays the one that the caller sees."""
        agent = self._agent.id
        if isinstance(error, Exception):
            command = FailTurn(agent, _told(error), turn=self._turn)
        else:
            command = InterruptTurn(agent, "cancelled", turn=self._turn)
        try:
            with suppress(RefusedError):  # somebody else ended the turn already
                await asyncio.shield(self._agent.do(command, SYSTEM))
        except LogError as further:
            error.add_note(f"The turn is still open in the log: {further}")


def _thought(thinking: object) -> list[ReplyPart]:
    """The part that holds the model's thinking, if there is any; the gate looks into it."""
    thought = thinking if isinstance(thinking, Thinking) else Thinking(words(thinking, "thinking"))
    return [thought] if thought.text or thought.signature else []


def _told(error: Exception) -> str:
    """The class and the words of an error, also of one that cannot say what it is."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # the error of another program may raise anything
        return type(error).__name__
