"""An agent program in memory: it keeps sessions, runs turns by a plan and asks questions."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from itertools import count

from msgspec import Struct

from sapwood.core.content import PromptPart, Text, ToolCall, Usage
from sapwood.core.ids import TranscriptRange
from sapwood.core.model_calls import Delta, Failure
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.state import State
from sapwood.programs.agent_provider import (
    History,
    ProgramInfo,
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    ProviderQuestion,
    ProviderReply,
    ProviderResult,
    SessionBusy,
    SyncMethod,
    SyncResult,
    ToolPermit,
    TurnEnd,
)
from sapwood.programs.registry import programs_with


class Says(Struct, frozen=True):
    """The program's model says something."""

    text: str
    deltas: bool = True
    usage: Usage | None = None


class Uses(Struct, frozen=True):
    """The model calls a tool, after a question if `asks`."""

    tool: str
    args: str = "{}"
    result: str = "done"
    asks: str = ""


class Stops(Struct, frozen=True):
    """The turn waits until it is interrupted, or ends in another way."""

    end: TurnEnd | None = None
    failure: Failure | None = None
    dies: bool = False


Step = Says | Uses | Stops
PlanTurn = Callable[[str], Sequence[Step]]


def echo(heard: str) -> Sequence[Step]:
    """Repeats what it heard."""
    return [Says(f"heard {heard}")]


class FakeProgram:
    """A provider whose program is a function from the prompt to steps.

    `sessions` are the texts of each session's history, as the model of the program would see them.
    """

    numbers = count(1)

    def __init__(self, program: str = "claude-code", plan: PlanTurn = echo) -> None:
        self.program = program
        self.plan = plan
        self.sessions: dict[str, list[str]] = {}
        self.synced: list[tuple[SyncMethod, History]] = []
        self.sent: list[list[str]] = []
        self.turns: dict[str, list[ProviderEvent]] = {}
        self.options: list[ProviderOptions] = []
        self.answers: dict[str, ProviderAnswer] = {}
        self.busy = False
        self.installed = True
        self.logged_in: bool | None = True
        self.loss = ""
        self.reason = ""
        """Why its sessions are not changed in place; empty if they are."""
        self.difference = ""
        self.reached = asyncio.Event()
        self._interrupted = asyncio.Event()
        self._waiting: dict[str, asyncio.Future[ProviderAnswer | None]] = {}

    def find(self) -> ProgramInfo | None:
        """The fake installation."""
        if not self.installed:
            return None
        in_place = not self.reason
        return ProgramInfo(self.program, "/bin/fake", "1.0", in_place, self.logged_in, self.reason)

    def prove(self, *, again: bool = False) -> ProgramInfo | None:
        """The fake installation, which needs no probe."""
        return self.find()

    async def kill(self) -> None:
        """Nothing runs."""

    async def start(
        self, options: ProviderOptions, session: ProgramSession | None = None
    ) -> ProgramSession:
        """A new session, or this one."""
        self.options.append(options)
        if session is None:
            session = ProgramSession(self.program, f"s{next(self.numbers)}")
            self.sessions[session.id] = []
        return session

    async def send(
        self, session: ProgramSession, prompt: tuple[PromptPart, ...], turn: str
    ) -> AsyncGenerator[ProviderEvent]:
        """Runs the plan; a turn that was sent before is told again."""
        if turn in self.turns:
            for event in self.turns[turn]:
                if not isinstance(event, Delta | ProviderQuestion):
                    yield event
            if not isinstance(self.turns[turn][-1], TurnEnd):
                yield TurnEnd("interrupted", rows=self._rows(session, turn))
            return
        told = self.turns[turn] = []
        history = self.sessions[session.id]
        history.append("\n\n".join(part.text for part in prompt))
        self.sent.append(list(history))
        self._interrupted.clear()
        async for event in self._run(session, turn, self.plan(prompt[-1].text)):
            told.append(event)
            yield event

    async def _run(
        self, session: ProgramSession, turn: str, steps: Sequence[Step]
    ) -> AsyncGenerator[ProviderEvent]:
        history = self.sessions[session.id]
        for step in steps:
            match step:
                case Says(text, deltas, usage):
                    if deltas:
                        yield Delta("text", text)
                    history.append(text)
                    yield ProviderReply((Text(text),), "fake-model", usage)
                case Uses(tool, args, result, asks):
                    call = f"call{next(self.numbers)}"
                    use = ToolCall(call, tool, args)
                    yield ProviderReply((use,), "fake-model", Usage(10, 2))
                    if asks:
                        waiting = asyncio.get_running_loop().create_future()
                        self._waiting[f"q-{call}"] = waiting
                        yield ProviderQuestion(f"q-{call}", call, tool, asks, arguments=args)
                        answer = await waiting
                        if answer is None:
                            yield TurnEnd("interrupted", rows=self._rows(session, turn))
                            return
                        if not answer.allowed:
                            yield ProviderResult(call, f"denied: {answer.reason}", error=True)
                            continue
                    history.append(f"{tool} -> {result}")
                    yield ProviderResult(call, result)
                case Stops(end, failure, dies):
                    self.reached.set()
                    if dies:
                        return
                    if failure is not None:
                        raise failure
                    if end is None:
                        await self._interrupted.wait()
                        end = TurnEnd("interrupted", rows=self._rows(session, turn))
                    yield end
                    return
        yield TurnEnd(
            "completed",
            rows=self._rows(session, turn),
            usage=Usage(100, 10),
            difference=self.difference,
        )

    def complete_cut_turns(self) -> None:
        """Completes turns that were interrupted, as a program does that outlives Sapwood."""
        for told in self.turns.values():
            if isinstance(told[-1], TurnEnd) and told[-1].status == "interrupted":
                told[-1] = TurnEnd("completed", rows=told[-1].rows)

    def _rows(self, session: ProgramSession, turn: str) -> NativeRows:
        return NativeRows(session, TranscriptRange(f"{turn}-first", f"{turn}-last"), "ab12", turn)

    async def interrupt(self, session: ProgramSession) -> None:
        """Ends the turn that runs, and its questions."""
        self._interrupted.set()
        while self._waiting:
            _, waiting = self._waiting.popitem()
            waiting.set_result(None)

    async def answer(self, session: ProgramSession, question: str, answer: ProviderAnswer) -> None:
        """Takes the answer to a question."""
        self.answers[question] = answer
        self._waiting.pop(question).set_result(answer)

    async def sync_session(
        self, session: ProgramSession | None, history: History, options: ProviderOptions
    ) -> SyncResult:
        """Replaces the texts of the session."""
        if self.busy:
            raise SessionBusy("The session is open in its program. Close it there.")
        by: SyncMethod = "boundary"
        if session is None:
            by = "new_session"
            session = ProgramSession(self.program, f"s{next(self.numbers)}")
        texts = list(history.front)
        texts += [message.text for turn in history.turns for message in turn.messages]
        self.sessions[session.id] = texts
        self.synced.append((by, history))
        return SyncResult(session, by, loss=self.loss)

    async def require_at_rest(self, session: ProgramSession) -> None:
        """Raises while it is busy."""
        if self.busy:
            raise SessionBusy("The session is open in its program. Close it there.")

    async def usage(self, session: ProgramSession) -> Usage | None:
        """Nothing."""
        return None

    async def close(self, session: ProgramSession | None = None) -> None:
        """Nothing to end."""


class FakePrograms:
    """Access to fake programs; every question is answered by `permit_with`, or fails with it."""

    def __init__(self, *programs: FakeProgram) -> None:
        self.programs = {program.program: program for program in programs}
        self.permit_with: ToolPermit | Exception = ToolPermit(allowed=True)
        self.asked: list[ProviderQuestion] = []

    def provider(self, program: str) -> FakeProgram:
        """The fake of this name."""
        if program not in self.programs:
            raise Failure("no_model", f"{program} is not installed.")
        return self.programs[program]

    async def permit(self, state: State, question: ProviderQuestion) -> ToolPermit:
        """The answer that the test wants."""
        self.asked.append(question)
        if isinstance(self.permit_with, Exception):
            raise self.permit_with
        return self.permit_with

    def price(self, model: str, usage: Usage) -> int:
        """One millionth for each token."""
        return usage.input + usage.output


def fake_programs() -> dict[str, FakeProgram]:
    """A fake for each program that runs turns. Only Claude Code and Codex are installed."""
    fakes = {each.name: FakeProgram(each.name) for each in programs_with("provider")}
    for name in fakes.keys() - {"claude-code", "codex"}:
        fakes[name].installed = False
    return fakes
