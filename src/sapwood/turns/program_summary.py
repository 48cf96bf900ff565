"""Has an agent program write a summary: in a session of its own that nothing else uses.

The agent's own session must not contain the request for the summary. So a new session gets the
same history and the instruction, and every tool is denied there.
"""

import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence

from msgspec import structs

from sapwood.core.content import ReplyPart, Text, Usage
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Answer, Delta, Failure, ToolSpec
from sapwood.core.view import Request
from sapwood.core.view.build import messages_of
from sapwood.programs.agent_provider import (
    History,
    HistoryTurn,
    ProgramAccess,
    ProviderAnswer,
    ProviderQuestion,
    ProviderReply,
    TurnEnd,
)
from sapwood.programs.registry import program_executor
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.program_sessions import options_of, read_history

_NO_TOOLS = "Do not use tools for a summary. Answer with text only."


class ProgramSummaries:
    """Sends the request for a summary of one agent to the agent's program, as to a model."""

    def __init__(self, dispatcher: Dispatcher, programs: ProgramAccess, agent: AgentId) -> None:
        self._dispatcher = dispatcher
        self._programs = programs
        self._agent = agent

    def window_of(self, model: str) -> int | None:
        """Unknown: the program chooses its model."""
        return None

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        """Yields the summary as one answer. Raises `Failure` if the program gives none."""
        executor = program_executor(request.model)
        if executor is None:
            raise Failure("no_model", f"'{request.model}' is not an agent program.")
        provider = self._programs.provider(executor.program)
        dispatcher = self._dispatcher
        opened = await dispatcher.open(self._agent)
        history = await read_history(dispatcher.log, dispatcher.space, opened.state, opened.live)
        if opened.live.open is not None:  # a turn that asked for the summary itself
            turn = opened.live.open
            last = HistoryTurn(turn, None, tuple(messages_of(turn)))
            history = History((*history.turns, last), history.front)
        options = structs.replace(options_of(opened.state, executor), mode="read-only")
        synced = await provider.sync_session(None, history, options)
        session = await provider.start(options, synced.session)
        instruction = Text(_last_text(request))
        answer = _Collected()
        try:
            events = provider.send(session, (instruction,), f"summary:{secrets.token_hex(8)}")
            async for event in events:
                if isinstance(event, ProviderQuestion):
                    denied = ProviderAnswer(allowed=False, reason=_NO_TOOLS)
                    await provider.answer(session, event.question, denied)
                elif isinstance(event, ProviderReply):
                    answer.add(event)
                elif isinstance(event, TurnEnd):
                    yield answer.ended(event)
                    return
        finally:
            await provider.close(session)


class _Collected:
    """The text of the last reply, and the usage of all."""

    def __init__(self) -> None:
        self._parts: tuple[ReplyPart, ...] = ()
        self._model = ""
        self._usage: Usage | None = None

    def add(self, reply: ProviderReply) -> None:
        self._parts = tuple(part for part in reply.parts if isinstance(part, Text))
        self._model = reply.model
        if reply.usage is not None:
            self._usage = (self._usage or Usage(0)) + reply.usage

    def ended(self, end: TurnEnd) -> Answer:
        if end.status != "completed":
            raise Failure("other", end.reason or "The program did not write a summary.")
        return Answer(self._parts, self._model, self._usage or end.usage)


def _last_text(request: Request) -> str:
    """The instruction: the last text of the request."""
    last = request.messages[-1].parts[-1]
    return last.text if isinstance(last, Text) else ""
