"""Checks the laws of the design after every command of generated histories.

`python -m proofs.laws [--histories N]` runs many histories and prints their number; the tests run
fewer of the same. One in 250 more runs on SQLite or PostgreSQL too, every other one of these after
an imported session. Laws 8 and 9 are about databases: `proofs.crash` and the contract suite of the
stores check them.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from msgspec import structs

from proofs.histories import MODEL, Operation, Step, histories, next_steps
from proofs.stored_histories import IMPORTED, SentCommand, check_stored, import_into, wire_faults
from sapwood.core.commands import (
    AddReply,
    CallModel,
    Clear,
    Command,
    Compact,
    CompleteTurn,
    Configure,
    DeferCompact,
    Drop,
    FailTurn,
    FinishRevert,
    FinishTool,
    Fork,
    InterruptTurn,
    KeepLast,
    Kill,
    Load,
    MaskResults,
    ReadMail,
    RecordTurn,
    Redo,
    Restore,
    Rewind,
    Send,
    SetMark,
    StartAgent,
    StartTool,
    StartTurn,
    Undo,
)
from sapwood.core.content import Note, PromptPart, Text
from sapwood.core.context import Context, as_of_turn, find_mark
from sapwood.core.decide import Accepted, Decision
from sapwood.core.events import (
    SYSTEM,
    ContextEvent,
    ContextSummarized,
    ContextTrimmed,
    Event,
    MailRead,
    MailReceived,
    MarkSet,
    ModelCalled,
    PinAdded,
    PinRemoved,
    SettingsChanged,
    TurnRecorded,
    TurnStarted,
)
from sapwood.core.evolve import evolve
from sapwood.core.history_size import settled
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_path import LivePath
from sapwood.core.settings import Settings
from sapwood.core.state import State
from sapwood.core.timeline.timeline import Timeline
from sapwood.core.token_count import Count, Counter
from sapwood.core.turn import Turn
from sapwood.core.view import Message, check, view
from sapwood.core.view.request import digest
from sapwood.store.postgres import PostgresLog
from sapwood.store.sqlite import SqliteLog
from sapwood.testing.core_harness import CharacterCounter, CoreHarness
from sapwood.turns.log import Log
from tools.postgres import dsn_or_throwaway

Messages = tuple[Message, ...]
CONTEXT_COMMANDS = (Clear, KeepLast, Drop, Restore, Rewind, Compact, FinishRevert)
ENDS = (CompleteTurn, InterruptTurn, FailTurn, RecordTurn)
TRIMS = (*ENDS, KeepLast, Drop, Compact, Configure, MaskResults, StartTurn)
FOR_MODELS = {
    *(SetMark, Clear, KeepLast, Drop, Restore, Load, Rewind, Fork, Send, ReadMail, Kill),
    DeferCompact,
    *(AddReply, CallModel, StartTool, FinishTool, CompleteTurn, InterruptTurn, FailTurn),
}


class HalfCounter:
    """A wrong estimate, which the counts that providers report must correct."""

    name = "halves"
    exact = False

    def count(self, text: str) -> Count:
        """Counts one token for two characters."""
        return Count(len(text) // 2, exact=False)


class Violation(AssertionError):
    """A law does not hold."""

    def __init__(self, law: int, what: str) -> None:
        super().__init__(f"law {law}: {what}")


def require(law: int, holds: bool, what: str) -> None:
    """Raises `Violation` if the law does not hold."""
    if not holds:
        raise Violation(law, what)


class Run:
    """One history, and what the checks must remember of it."""

    def __init__(self, cap: int, counter: Counter, *, check_wires: bool = False) -> None:
        self.world = CoreHarness(counter)
        self.cap = cap
        self.sent: list[SentCommand] = []
        self._check_wires = check_wires
        self.at_mark: dict[tuple[AgentId, int], Messages] = {}
        self.born: dict[AgentId, tuple[State, Messages]] = {}
        self.last_sent: dict[AgentId, list[object]] = {}

    def start(self) -> None:
        """Starts the first agent, unless the world begins with a log."""
        if not self.world.logs:
            settings = Settings(model="scripted", cap=self.cap)
            self._send(Step(StartAgent(AgentId("agent1"), settings=settings)))

    def _send(self, step: Step) -> Decision:
        meta = self.world.next_meta(step.actor, step.call)
        decision = self.world.do(step.command, step.actor, step.call)
        self.sent.append(SentCommand(step.command, meta, decision))
        return decision

    def step(self, step: Step) -> None:
        """Dispatches one command and checks everything that it could have broken."""
        world, command, agent = self.world, step.command, step.command.agent
        before = world.copy()
        decision = self._send(step)
        if not isinstance(decision, Accepted):
            sentence = decision.sentence
            require(2, sentence.endswith("."), f"a refusal that is no sentence: {sentence}")
            return
        for changed in {change.agent for change in decision.changes}:
            self._check_request(changed)
        self._check_authority(before, step, decision)
        if agent in before.states:
            self._check_cap(command, decision)
            self._check_restoring(before, step, decision)
            self._check_clipped(agent, decision)
            self._check_last_request(before, step, decision)
        self._check_fork(before, command, decision)
        self._check_prefix(decision)
        self._remember_marks(decision)

    def finish(self) -> None:
        """Checks the laws that concern the whole history."""
        for agent in self.world.logs:
            self._check_fold(agent)
            self._check_replay(agent)
            self._check_notes(agent)
            self._check_way_back(agent)
        for child, (state, messages) in self.born.items():
            live = self.world.read_live(child, state.context)
            require(5, view(state, live).messages == messages, f"{child} changed after birth")

    def _check_fold(self, agent: AgentId) -> None:
        log = self.world.logs[agent]
        folded = State(agent)
        for index, recorded in enumerate(log):
            require(1, recorded.version == index + 1, f"a gap in the log of {agent}")
            folded = evolve(folded, recorded)
            if index == len(log) // 2:
                packed = msgspec.msgpack.encode(folded)
                folded = msgspec.msgpack.decode(packed, type=State)
        require(1, folded == self.world.states[agent], f"{agent} folds to another state")
        walked = self.world.read_live(agent)
        require(1, walked == self.world.lives[agent], f"{agent} walks to another path")

    def _check_replay(self, agent: AgentId) -> None:
        for recorded in self.world.logs[agent]:
            if isinstance(recorded.event, ModelCalled):
                sent = digest(self.world.request_at(agent, recorded.version - 1))
                same = sent == recorded.event.hash
                require(1, same, f"the call {recorded.ref} replays to another request")

    def _check_notes(self, agent: AgentId) -> None:
        """Mail that was read reaches the model: it is in a prompt or waits for the next one."""
        letters: dict[str, str] = {}
        read: set[str] = set()
        prompts: list[PromptPart] = list(self.world.states[agent].notes)
        for recorded in self.world.logs[agent]:
            match recorded.event:
                case MailReceived() as event:
                    letters[event.mail] = event.text
                case MailRead(noted=True) as event:
                    read.update(event.mails)
                case TurnStarted() | TurnRecorded() as event:
                    prompts += event.prompt
                case ContextTrimmed(notes_dropped=True):
                    read.clear()
                case _:
                    pass
        prompt_texts = {part.text for part in prompts}
        lost = [mail for mail in read if letters[mail] not in prompt_texts]
        require(6, not lost, f"{agent} lost mail {lost}")

    def _check_way_back(self, agent: AgentId) -> None:
        """The number of undos that a fold names ends before the command that made the fold."""
        state, timeline = self.world.states[agent], Timeline()
        for recorded in self.world.logs[agent]:
            timeline.add(recorded)
        for departure in timeline.departures:
            back = timeline.undo_action(departure)
            if back is not None and back.command != "load":
                steps = state.undo if back.command == "undo" else state.redo
                reached = steps[-back.times].version if back.times <= len(steps) else 0
                same = reached == departure.version
                require(4, same, f"{back} does not undo the event {departure.version} of {agent}")

    def _check_request(self, agent: AgentId) -> None:
        state, live = self.world.states[agent], self.world.lives[agent]
        faults = check(self.world.request(agent), state, live)
        require(2, not faults, "; ".join(faults))
        own = [part for turn in live.all_turns if turn.agent == agent for part in turn.prompt]
        doubled = [note for note in state.notes if note.origin == "mail" and note in own]
        require(6, not doubled, f"{agent} has in view what still waits: {doubled}")

    def _check_cap(self, command: Command, decision: Accepted) -> None:
        """Checks the cap when a turn starts or ends, or when the cap changes.

        A restored context has its earlier size until the next prompt.
        """
        concerned = isinstance(command, (*ENDS, Configure, StartTurn)) or _completes(decision)
        if not concerned or not decision.changes:
            return
        state, live = self.world.states[command.agent], self.world.lives[command.agent]
        starts = isinstance(command, StartTurn)
        if not state.settings.cap or (state.open is not None and not starts):
            return
        if _rewound(self.world, command):
            return
        size = settled(live, self.world.counter, state.ratio()).tokens
        fits = size <= state.settings.cap or len(live.turns) == 1
        require(3, fits, f"{size} tokens in {len(live.turns)} turns, cap {state.settings.cap}")

    def _check_restoring(self, before: CoreHarness, step: Step, decision: Accepted) -> None:
        command, agent = step.command, step.command.agent
        if step.actor == MODEL or not decision.changes:
            return
        if isinstance(command, Rewind) and command.before is not None:
            then = self.world.request_at(agent, command.before.first - 1).messages
            require(4, _messages(self.world, agent) == then, "a turn is another place than it was")
            self._check_mail_waits(before, agent)
        elif isinstance(command, Rewind):
            state = before.states[agent]
            index = find_mark(state.marks, command.mark)
            assert index is not None
            known = self.at_mark[agent, state.marks[index].version]
            require(4, _messages(self.world, agent) == known, "a rewind restored something else")
        elif isinstance(command, FinishRevert):
            self._check_mail_waits(before, agent)
        if isinstance(command, CONTEXT_COMMANDS) and before.states[agent].open is None:
            self._check_undo(before, agent)
        if isinstance(command, (Clear, KeepLast, Drop, Restore, Rewind)):
            was, now = before.states[agent], self.world.states[agent]
            same = (was.context, was.marks, was.notes) == (now.context, now.marks, now.notes)
            require(4, not same, f"{type(command).__name__} changed nothing and is a step")

    def _check_mail_waits(self, before: CoreHarness, agent: AgentId) -> None:
        """Mail that was in view is still in view after a return, or waits for the next prompt."""

        def mail(world: CoreHarness) -> set[str]:
            own = (turn for turn in world.lives[agent].turns if turn.agent == agent)
            parts = [*world.states[agent].notes, *(part for turn in own for part in turn.prompt)]
            notes = (part for part in parts if isinstance(part, Note))
            return {note.text for note in notes if note.origin == "mail"}

        lost = mail(before) - mail(self.world)
        require(6, not lost, f"a return took mail out of view: {lost}")

    def _check_clipped(self, agent: AgentId, decision: Accepted) -> None:
        """An undo right after the window moved brings back the turns that it clipped."""
        events = [e for change in decision.changes if change.agent == agent for e in change.events]
        if not events or not isinstance(events[-1], ContextTrimmed) or events[-1].cause != "window":
            return
        trial = self.world.copy()
        trial.do(Undo(agent))
        now, back = self.world.lives[agent].turns, trial.lives[agent].turns
        more = len(back) > len(now) and list(back[len(back) - len(now) :]) == list(now)
        require(4, more, "undo did not bring back what the window clipped")
        trial.do(Redo(agent))
        same = _messages(trial, agent) == _messages(self.world, agent)
        require(4, same, "redo did not clip again what the window clipped")

    def _check_undo(self, before: CoreHarness, agent: AgentId) -> None:
        trial = self.world.copy()
        trial.do(Undo(agent))
        same = _messages(trial, agent) == _messages(before, agent)
        require(4, same, "undo restored something else")
        marks = [(m.name, m.context) for m in trial.states[agent].marks]
        expected = [(m.name, m.context) for m in before.states[agent].marks]
        require(4, marks == expected, "undo restored other marks")
        waiting = trial.states[agent].notes == before.states[agent].notes
        require(4, waiting, "undo restored other notes")
        trial.do(Redo(agent))
        same = _messages(trial, agent) == _messages(self.world, agent)
        require(4, same, "redo restored something else")
        waiting = trial.states[agent].notes == self.world.states[agent].notes
        require(4, waiting, "redo restored other notes")

    def _check_last_request(self, before: CoreHarness, step: Step, decision: Accepted) -> None:
        """The last request stays in view unchanged, after every kind of trim.

        A program that compacts its own session keeps what it likes: the view shows that (law 13).
        """
        agent = step.command.agent
        if not isinstance(step.command, TRIMS) or _cleared(decision, agent):
            return
        is_imported = before.states[agent].origin is not None
        if is_imported and isinstance(step.command, Compact) and step.actor == SYSTEM:
            return
        asked = _newest_request(before.lives[agent])
        if isinstance(step.command, RecordTurn):
            asked = step.command.prompt[0].text
        view_text = " ".join(
            part.text
            for message in self.world.request(agent).messages
            for part in message.parts
            if isinstance(part, Text)
        )
        require(6, asked in view_text, f"{type(step.command).__name__} lost the last request")

    def _check_fork(self, before: CoreHarness, command: Command, decision: Accepted) -> None:
        if not isinstance(command, Fork):
            return
        child, parent = command.child, command.agent
        live = self.world.lives[child]
        inherited = structs.replace(live, open=None)
        parents = _settled(before.lives[parent])
        own, theirs, now = _flat(inherited), _flat(parents), _flat(before.lives[parent])
        require(5, now[: len(theirs)] == theirs, "the parent saw something else")
        if command.mark is None:
            require(5, own == theirs, "a fork sees something else than its parent")
        else:
            expected = _since_mark(before, parent, command.mark)
            seen = list(inherited.turns)
            require(5, inherited.summary is None, "a fork sees a summary from before its mark")
            if self.world.states[child].window_moved_at:
                require(5, 0 < len(seen) < len(expected), "the window of a child moved wrongly")
            else:
                require(5, not inherited.request, "a fork sees a request from before its mark")
                require(5, len(seen) == len(expected), "a fork sees not what came after its mark")
            same = list(expected)[len(expected) - len(seen) :] == seen
            require(5, same, "a fork sees something else than what came after its mark")
        state = self.world.states[child]
        require(5, not state.marks and not state.inbox, "a child was born with marks or mail")
        self.born[child] = (state, view(state, inherited).messages)

    def _check_prefix(self, decision: Accepted) -> None:
        for change in decision.changes:
            agent = change.agent
            if any(_moves_context(event) for event in change.events):
                self.last_sent.pop(agent, None)
            turn = self.world.states[agent].open
            if turn is None or turn.calls:
                continue
            request = self.world.request(agent)
            if self._check_wires:
                faults = wire_faults(request)
                require(2, not faults, "; ".join(faults))
            sent = list[object](request.flat())
            earlier = self.last_sent.get(agent, [])
            require(7, sent[: len(earlier)] == earlier, "a request is no prefix of the next")
            self.last_sent[agent] = sent

    def _check_authority(self, before: CoreHarness, step: Step, decision: Accepted) -> None:
        if step.actor != MODEL:
            return
        command = step.command
        acting = command.agent
        if isinstance(command, Kill) and command.by is not None:
            acting = command.by
        if isinstance(command, Send) and command.sender is not None:
            acting = command.sender
        for change in decision.changes:
            mail = all(isinstance(event, MailReceived) for event in change.events)
            own = change.agent == acting or acting in self.world.ancestors(change.agent)
            require(10, own or mail, f"a model of {acting} changed {change.agent}")
        require(10, type(command) in FOR_MODELS, f"a model gave {type(command).__name__}")

    def _remember_marks(self, decision: Accepted) -> None:
        for change in decision.changes:
            if any(isinstance(event, MarkSet) for event in change.events):
                mark = self.world.states[change.agent].marks[-1]
                live = self.world.read_live(change.agent, mark.context)
                now, seen = _flat(self.world.lives[change.agent]), _flat(live)
                require(4, now[: len(seen)] == seen, "a mark names something else")
                messages = view(self.world.states[change.agent], live).messages
                self.at_mark[change.agent, mark.version] = messages


def _messages(world: CoreHarness, agent: AgentId) -> Messages:
    return world.request(agent).messages


def _settled(live: LivePath) -> LivePath:
    """The path as it was when the open turn started."""
    if live.open is None:
        return live
    context = as_of_turn(live.context, live.open.agent, live.open.first)
    return structs.replace(live, context=context, open=None)


def _since_mark(world: CoreHarness, agent: AgentId, name: str) -> Sequence[Turn]:
    """The turns after a mark, in view or not; none if the mark is in the open turn."""
    state = world.states[agent]
    index = find_mark(state.marks, name)
    assert index is not None
    mark = state.marks[index]
    if state.open is not None and mark.turn == state.open.first:
        return ()
    start, head = mark.context.tip, state.context.head
    since = world.read_live(agent, Context(state.context.tip, start)).turns
    if head is not None and any(turn.ref == head for turn in since):  # the mark is before the view
        return since
    return world.read_live(agent, Context(state.context.tip, start, cuts=state.context.cuts)).turns


def _flat(live: LivePath) -> list[object]:
    request = view(State(AgentId("any")), live)
    return list(request.flat())


def _newest_request(live: LivePath) -> str:
    def words(turn: Turn) -> str:
        return next((part.text for part in turn.prompt if isinstance(part, Text)), "")

    carried = next((part.text for part in live.request if isinstance(part, Text)), "")
    return next((words(turn) for turn in reversed(live.all_turns) if turn.is_request), carried)


def _completes(decision: Accepted) -> bool:
    events = (event for change in decision.changes for event in change.events)
    return any(event.kind == "turn.completed" for event in events)


def _cleared(decision: Accepted, agent: AgentId) -> bool:
    """Whether a model's own bare clear or rewind took effect with this command."""
    kinds = {event.kind for change in decision.changes for event in change.events}
    causes = {
        getattr(event, "cause", "")
        for change in decision.changes
        if change.agent == agent
        for event in change.events
    }
    return "clear" in causes or "context.rewound" in kinds


def _rewound(world: CoreHarness, command: Command) -> bool:
    return world.logs[command.agent][-1].kind == "context.rewound"


def _moves_context(event: Event) -> bool:
    if isinstance(event, MarkSet | ContextSummarized):
        return False
    return isinstance(event, ContextEvent | PinAdded | PinRemoved | SettingsChanged)


def run_history(operations: list[Operation]) -> int:
    """Runs one history; raises `Violation` at the first broken law. Returns the command count."""
    run = _new_run(operations)
    _play(run, operations)
    return run.world.commands


async def run_stored(log: Log, space: Space, operations: list[Operation], session: str = "") -> int:
    """Runs one history in memory and in an empty space, after an imported session if one is named.

    Raises `Violation` or `Difference`. Returns the command count.
    """
    run = _new_run(operations, check_wires=True)
    if session:
        await import_into(log, space, session, run.world)
    _play(run, operations)
    await check_stored(log, space, run.world, run.sent, run.world.counter)
    return run.world.commands


def _new_run(operations: list[Operation], *, check_wires: bool = False) -> Run:
    cap = (0, 150, 400, 1500)[operations[0][1] % 4]
    counter = HalfCounter() if operations[0][2] % 3 == 0 else CharacterCounter()
    return Run(cap, counter, check_wires=check_wires)


def _play(run: Run, operations: list[Operation]) -> None:
    run.start()
    for operation in operations:
        for step in next_steps(run.world, operation):
            run.step(step)
    run.finish()


def prove(count: int, first_seed: int, report: Callable[[int, int], None]) -> None:
    """Runs this many generated histories."""

    @seed(first_seed)
    @_many(count)
    @given(histories())
    def all_laws_hold(operations: list[Operation]) -> None:
        report(1, run_history(operations))

    all_laws_hold()


def prove_stored(count: int, first_seed: int, dsn: str, report: Callable[[int, int], None]) -> None:
    """Runs this many generated histories on databases too, each in a space of its own."""
    session = st.sampled_from(("",) * len(IMPORTED) + IMPORTED)
    spaces = itertools.count()
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder, asyncio.Runner() as runner:
        logs: list[Log] = [
            runner.run(SqliteLog.open(Path(folder) / "laws.db")),
            runner.run(PostgresLog.open(dsn)),
        ]

        @seed(first_seed)
        @_many(count)
        @given(histories(), st.integers(0, len(logs) - 1), session)
        def databases_agree(operations: list[Operation], which: int, session: str) -> None:
            space = Space(f"laws-{os.getpid()}-{next(spaces)}")
            report(1, runner.run(run_stored(logs[which], space, operations, session)))

        try:
            databases_agree()
        finally:
            for log in logs:
                runner.run(log.close())


def _many(count: int) -> settings:
    return settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        phases=(Phase.generate, Phase.shrink),
    )


def _work(
    count: int,
    stored: int,
    dsn: str,
    first_seed: int,
    results: "multiprocessing.Queue[tuple[int, int, str]]",
) -> None:
    done = [0, 0]

    def report(histories: int, commands: int) -> None:
        done[0] += histories
        done[1] += commands
        if done[0] % 500 == 0:
            results.put((500, done[1], ""))
            done[1] = 0

    try:
        prove_stored(stored, first_seed, dsn, report)
        prove(count, first_seed, report)
        results.put((done[0] % 500, done[1], ""))
        results.put((-1, 0, ""))
    except BaseException as broken:
        notes: list[str] = getattr(broken, "__notes__", [])  # the shortest history that breaks it
        results.put((-1, 0, "\n".join([f"{type(broken).__name__}: {broken}", *notes])))


def main(argv: list[str]) -> int:
    """Runs generated histories on all cores and prints their number."""
    parser = argparse.ArgumentParser(prog="python -m proofs.laws", description=__doc__)
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--stored", type=int, help="histories on databases; one in 250 by default")
    options = parser.parse_args(argv)
    stored = options.histories // 250 if options.stored is None else options.stored
    with dsn_or_throwaway(volatile=True) as dsn:
        return _run_workers(options.histories, stored, options.seed, dsn)


def _run_workers(wanted: int, stored: int, first_seed: int, dsn: str) -> int:
    workers = os.cpu_count() or 1
    results: multiprocessing.Queue[tuple[int, int, str]] = multiprocessing.Queue()
    shares = -(-wanted // workers), -(-stored // workers)
    processes = [
        multiprocessing.Process(
            target=_work, args=(*shares, dsn, first_seed + i, results), daemon=True
        )
        for i in range(workers)
    ]
    print(
        f"{wanted:,} histories and {stored:,} on databases too, {workers} processes, "
        f"seed {first_seed}",
        flush=True,
    )
    for process in processes:
        process.start()
    total, commands, faults, running, shown = 0, 0, list[str](), workers, 0
    while running:
        count, given_, fault = results.get()
        running -= count < 0
        total += max(0, count)
        commands += given_
        faults += [fault] if fault else []
        if total - shown >= 10_000:
            shown = total
            print(f"  {total:,} histories, {commands:,} commands", flush=True)
    for fault in faults:
        print(fault, file=sys.stderr)
    enough = total >= wanted + stored
    print(
        f"laws: {total:,} histories, {stored:,} of them on databases too, {commands:,} commands, "
        f"{len(faults)} violations"
    )
    return 0 if enough and not faults else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
