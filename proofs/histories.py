"""Generated histories: lists of numbers that become commands which fit the present state.

Because a number is interpreted in the present state, nearly every step is meaningful, and
Hypothesis can shrink a failure to the few commands that cause it.
"""

from collections.abc import Callable

from hypothesis import strategies as st
from msgspec import Struct

from sapwood.core.checkpoint import Destination, Restored, Saved
from sapwood.core.commands import (
    AddPin,
    AddReply,
    Archive,
    CallModel,
    Clear,
    Command,
    Compact,
    CompleteTurn,
    Configure,
    DeferCompact,
    Drop,
    DropSummary,
    ExtendSummary,
    FailTurn,
    FinishRevert,
    FinishTool,
    Focus,
    Fork,
    InterruptTurn,
    KeepLast,
    Kill,
    Load,
    MakeCheckpoint,
    MaskResults,
    QuotedTurn,
    ReadMail,
    RecordTurn,
    Redo,
    RemovePin,
    Restore,
    Rewind,
    Send,
    SetMark,
    StartAgent,
    StartRevert,
    StartSuccessor,
    StartTool,
    StartTurn,
    Undo,
    Unfocus,
)
from sapwood.core.content import RecordedReply, RecordedResult, Text, Thinking, ToolCall, Usage
from sapwood.core.context import ROOT, Context
from sapwood.core.events import HUMAN, SYSTEM, Actor, InstructionText, TurnRecorded, TurnStarted
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId, EventRef, TurnPlace, TurnRef
from sapwood.core.model_calls import CallReport
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view.request import digest
from sapwood.core.waiting_notes import notes_in_view, notes_left_behind
from sapwood.testing.core_harness import CoreHarness

MODEL = Actor("model", "scripted")

Operation = tuple[int, int, int]
"""The command, and two numbers that choose its details."""

MARKS = ("A", "B", "C")


class Step(Struct, frozen=True):
    """A command and its actor."""

    command: Command
    actor: Actor = HUMAN
    call: str | None = None


def _words(seed: int) -> str:
    return f"w{seed} " * (1 + seed % 23)


def _got(seed: int) -> str:
    """A tool result; sometimes one that is too long to be shown whole."""
    return _words(seed) * (400 if seed % 64 == 22 else 1)


def _reply(world: CoreHarness, agent: AgentId, a: int, b: int) -> Command:
    """A reply with up to three tool calls; what the model must do next depends on it."""
    count = len(world.logs[agent])
    calls = tuple(
        ToolCall(f"t{agent}-{count}-{i}", "slash", '{"command":"mark"}') for i in range(a % 4)
    )
    thinking = (Thinking(_words(b)),) if b % 5 == 0 else ()
    text = (Text(_words(a)),) if b % 3 else ()
    usage = Usage(input=50 + 7 * a, output=b) if b % 2 else None
    ended = "length" if b % 11 == 0 else "done"
    report = CallReport(f"msg_{a}", a % 3, "prefix_binding_mismatch", b % 2, "messages_changed")
    parts = (*thinking, *text, *calls)
    return AddReply(agent, parts, "scripted", usage, ended=ended, report=report)


def _call(world: CoreHarness, agent: AgentId, a: int, b: int) -> Command:
    """A model call; sometimes with a request that is out of date."""
    hash_ = digest(world.request(agent)) if b % 5 else "outdated"
    return CallModel(agent, "scripted", hash_, estimate=40 + 5 * a)


def _letter(world: CoreHarness, seed: int) -> str:
    """Words that no other mail has, so that a check can find them."""
    return f"{_words(seed)}{world.commands}"


def _recorded(world: CoreHarness, agent: AgentId, a: int, b: int) -> Command:
    call = ToolCall(f"r{agent}-{len(world.logs[agent])}", "read", "{}")
    tool = (RecordedReply((call,)), RecordedResult(call.id, _words(b))) if a % 2 else ()
    items = (*tool, RecordedReply((Text(_words(b)),))) if b % 4 else (RecordedReply((call,)),)
    status = "completed" if b % 4 else "interrupted" if a % 2 else "failed"
    return RecordTurn(agent, (Text(_words(a)),), items, status)


def _open_call(world: CoreHarness, agent: AgentId, a: int) -> str:
    turn = world.states[agent].open
    return turn.calls[a % len(turn.calls)] if turn and turn.calls else "none"


def _some_call(world: CoreHarness, agent: AgentId, a: int) -> str | None:
    turn = world.lives[agent].open
    calls = list(turn.calls) if turn else []
    return calls[a % len(calls)] if calls else None


def _mark(world: CoreHarness, agent: AgentId, a: int) -> str | None:
    marks = world.states[agent].marks
    return marks[a % len(marks)].name or None if marks else None


def _seldom(a: int, command: Command) -> Command:
    """A command that ends an agent; too many of them would end every history early."""
    return command if a % 5 == 0 else SetMark(command.agent)


def _someone(world: CoreHarness, a: int) -> AgentId:
    return list(world.states)[a % len(world.states)]


def _new(world: CoreHarness) -> AgentId:
    return AgentId(f"agent{len(world.logs) + 1}")


_Maker = Callable[[CoreHarness, AgentId, int, int], list[Step]]


def _human(command: Callable[[CoreHarness, AgentId, int, int], Command]) -> _Maker:
    def steps(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
        return [Step(command(world, agent, a, b))]

    return steps


def _model(command: Callable[[CoreHarness, AgentId, int, int], Command]) -> _Maker:
    def steps(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
        return [Step(command(world, agent, a, b), MODEL, _some_call(world, agent, a + b))]

    return steps


def _whole_turn(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
    """A turn from prompt to end, with a tool call in every other one."""
    call = ToolCall(f"w{agent}-{len(world.logs[agent])}", "read", "{}")
    tools = [
        Step(AddReply(agent, (call,)), MODEL),
        Step(FinishTool(agent, call.id, _words(b) * (1 + a % 3))),
    ]
    return [
        Step(StartTurn(agent, (Text(_words(a)),), _instructions(b))),
        *(tools if a % 2 else []),
        Step(AddReply(agent, (Text(_words(b)),)), MODEL),
        Step(CompleteTurn(agent)),
    ]


def _instructions(b: int) -> tuple[InstructionText, ...] | None:
    """What was read in the workspace: nothing looked, or texts that differ each time."""
    return (
        None if b % 4 == 0 else tuple(InstructionText("AGENTS.md", _words(b)) for _ in range(b % 3))
    )


def _tidied(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
    """A turn whose model asks to compact at its end, sometimes also to drop something."""
    dropped = [Step(Drop(agent, _places(world, agent, a, b)), MODEL)] if a % 2 else []
    return [
        Step(StartTurn(agent, (Text(_words(a)),), _instructions(b))),
        *dropped,
        Step(DeferCompact(agent, b % 3), MODEL),
        Step(AddReply(agent, (Text(_words(b)),)), MODEL),
        Step(Compact(agent, _words(a), keep=b % 3), SYSTEM),
    ]


def _gone_back(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
    """Files are saved; then files and context go back to an earlier turn."""
    state = world.states[agent]
    moments = [*state.marks, *state.undo, *state.redo]
    context = moments[a % len(moments)].context if moments else ROOT
    after = world.read_live(agent, context).turns
    heard = notes_in_view(state.notes, after)
    left = notes_left_behind(agent, _left_behind(world, agent, context), after)
    files = Saved(f"c{a}", f"t{b}")
    to = Destination(state.version, b % (state.version + 1), "then")
    finish = FinishRevert(
        agent, state.version + 1, context, files, Restored(a, b), heard, notes_left=left
    )
    return [Step(StartRevert(agent, files, to)), Step(finish)]


def _left_behind(world: CoreHarness, agent: AgentId, context: Context) -> list[Turn]:
    """The turns that a return leaves behind: in view or on the path now, and not there."""
    now, path, there = (
        world.read_live(agent, each).turns
        for each in (world.states[agent].context, Context(world.states[agent].context.tip), context)
    )
    stays = {turn.ref for turn in world.read_live(agent, Context(context.tip)).turns}
    in_view = {turn.ref for turn in there}
    gone = [turn for turn in path if turn.ref not in stays]
    return gone + [turn for turn in now if turn.ref in stays - in_view]


def _back_to_turn(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
    """The context goes back to before a turn of this agent, in view or not."""
    starts = [r for r in world.logs[agent] if isinstance(r.event, TurnStarted | TurnRecorded)]
    if not starts:
        return []
    first = starts[a % len(starts)].version
    state = State(agent)
    for recorded in world.logs[agent][: first - 1]:
        state = evolve(state, recorded)
    after = world.read_live(agent, state.context).turns
    back = Rewind(
        agent,
        before=TurnRef(agent, first, first),
        context=state.context,
        notes_left=notes_left_behind(
            agent, _left_behind(world, agent, state.context), after, state.notes
        ),
        notes_in_view=notes_in_view(world.states[agent].notes, after),
    )
    return [Step(back, MODEL if b % 7 == 0 else HUMAN)]


def _loaded(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
    """One turn of this agent, or two at once, come back as quotations."""
    starts = [r for r in world.logs[agent] if isinstance(r.event, TurnStarted | TurnRecorded)]
    if not starts:
        return []
    source, other = (EventRef(agent, starts[at % len(starts)].version) for at in (a, a + 1))
    more = (QuotedTurn(other, _words(a)),) if b % 2 else ()
    load = Load(agent, source, _words(b), more)
    return [Step(load, MODEL if b % 5 == 0 else HUMAN)]


def _places(world: CoreHarness, agent: AgentId, a: int, b: int) -> tuple[TurnPlace, ...]:
    """Turns or a result, mostly of the turns in view, its own or inherited ones."""
    turns = world.lives[agent].turns
    if not turns or b % 9 == 8:
        return (TurnPlace(1 + a % 7, 1 + a % 7 + b % 3),)
    turn = turns[a % len(turns)]
    owner = "" if turn.agent == agent else turn.agent
    first, result = max(1, turn.number), 1 + b % 2 if b % 5 == 0 else 0
    place = TurnPlace(first, first if result else first + b % 3, result, owner)
    return (place, TurnPlace(1, 1)) if b % 7 == 6 else (place,)


def _dropped(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
    """Turns or results leave the middle of the view."""
    command = Drop(agent, _places(world, agent, a, b), b % 5 == 1)
    return [Step(command, MODEL if a % 5 == 0 else HUMAN)]


def _restored(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
    """Something that was dropped comes back to its place."""
    cuts = world.lives[agent].cuts
    refs = [*cuts.turns, *cuts.results]
    if not refs:
        return []
    ref = refs[a % len(refs)]
    start = world.logs[ref.agent][ref.first - 1].event
    assert isinstance(start, TurnStarted | TurnRecorded)
    owner = "" if ref.agent == agent else ref.agent
    first = max(1, start.number - b % 2)
    result = 1 if b % 3 == 0 else 0
    place = TurnPlace(first, first if result else start.number, result, owner)
    return [Step(Restore(agent, (place,)), MODEL if b % 5 == 0 else HUMAN)]


def _extended(world: CoreHarness, agent: AgentId, a: int, b: int) -> list[Step]:
    """A longer summary after a move of the window; sometimes of another move."""
    moved = world.states[agent].window_moved_at - (a % 4 == 3)
    return [Step(ExtendSummary(agent, _words(a), moved, _words(b)), SYSTEM)]


def _change(a: int, b: int) -> SettingsChange:
    match a % 4:
        case 0:
            return SettingsChange(cap=40 + 10 * b, low_water=(0.3, 0.6, 1.0)[b % 3])
        case 1:
            return SettingsChange(mask_over=(0, 20, 60)[b % 3])
        case 2:
            return SettingsChange(system=_words(b))
        case _:
            return SettingsChange(window=1000 * b)


# Commands that move a conversation forward stand several times, so that histories grow.
OPERATIONS: tuple[_Maker, ...] = (
    *(_whole_turn,) * 14,
    *(_human(lambda w, g, a, b: StartTurn(g, (Text(_words(a)),), _instructions(b))),) * 4,
    *(_model(lambda w, g, a, b: _reply(w, g, a, b)),) * 4,
    *(_human(lambda w, g, a, b: FinishTool(g, _open_call(w, g, a), _got(b), b % 7 == 0)),) * 4,
    *(_human(lambda w, g, a, b: CompleteTurn(g)),) * 4,
    *(_human(lambda w, g, a, b: _recorded(w, g, a, b)),) * 4,
    *(_human(lambda w, g, a, b: KeepLast(g, a % 5)),) * 2,
    *(_human(lambda w, g, a, b: Compact(g, _words(a), keep=b % 4, ledger=_words(b))),) * 2,
    _human(
        lambda w, g, a, b: Compact(
            g, _words(a), keep=b % 4, signer="anthropic", signature="c2ln", tokens=a % 9
        )
    ),
    _model(lambda w, g, a, b: DeferCompact(g, b % 3)),
    _human(lambda w, g, a, b: DropSummary(g, "scripted", Usage(1 + a, b), _words(b))),
    _tidied,
    _human(lambda w, g, a, b: StartTurn(g)),
    _human(lambda w, g, a, b: StartTool(g, _open_call(w, g, a))),
    *(_human(lambda w, g, a, b: _call(w, g, a, b)),) * 2,
    _human(lambda w, g, a, b: InterruptTurn(g, _words(a) if b % 2 else "")),
    _human(lambda w, g, a, b: InterruptTurn(g, "", _words(b), w.states[g].version - a % 3)),
    _human(lambda w, g, a, b: FailTurn(g, _words(a))),
    _human(lambda w, g, a, b: SetMark(g, MARKS[a % 3])),
    _human(lambda w, g, a, b: SetMark(g, "")),
    _model(lambda w, g, a, b: SetMark(g, MARKS[a % 3])),
    _human(lambda w, g, a, b: Clear(g)),
    _model(lambda w, g, a, b: Clear(g)),
    _model(lambda w, g, a, b: KeepLast(g, a % 5)),
    _human(lambda w, g, a, b: Rewind(g, _mark(w, g, a))),
    _human(lambda w, g, a, b: Rewind(g, _mark(w, g, a), _words(b))),
    _model(lambda w, g, a, b: Rewind(g, _mark(w, g, a), _words(b))),
    _gone_back,
    *(_back_to_turn,) * 2,
    *(_loaded,) * 2,
    *(_dropped,) * 5,
    *(_restored,) * 2,
    _human(lambda w, g, a, b: MakeCheckpoint(g, Saved(f"c{a}", f"t{b}"), a % 9)),
    _human(lambda w, g, a, b: Undo(g)),
    _human(lambda w, g, a, b: Undo(g)),
    _human(lambda w, g, a, b: Redo(g)),
    _human(lambda w, g, a, b: MaskResults(g, 1 + a % 60)),
    _human(lambda w, g, a, b: Configure(g, _change(a, b))),
    _human(lambda w, g, a, b: AddPin(g, f"p{a % 3}", _words(b))),
    _human(lambda w, g, a, b: RemovePin(g, f"p{a % 3}")),
    _human(lambda w, g, a, b: Focus(g, f"t{a % 3}", b % 4)),
    _human(lambda w, g, a, b: Unfocus(g, f"t{a % 3}")),
    _human(lambda w, g, a, b: Fork(g, _new(w))),
    _human(lambda w, g, a, b: Fork(g, _new(w), goal=_words(a), delegated=b % 2 == 0)),
    _human(lambda w, g, a, b: Fork(g, _new(w), _mark(w, g, a), goal=_words(b) if b % 2 else "")),
    _model(lambda w, g, a, b: Fork(g, _new(w), _mark(w, g, a), goal=_words(b) if b % 2 else "")),
    _human(lambda w, g, a, b: Send(g, f"m{w.commands}", _letter(w, a), _someone(w, b))),
    _model(lambda w, g, a, b: Send(_someone(w, a), f"m{w.commands}", _letter(w, b), g)),
    *(_human(lambda w, g, a, b: ReadMail(g)),) * 2,
    _model(lambda w, g, a, b: ReadMail(g, "tool")),
    _human(lambda w, g, a, b: _seldom(a, Kill(g))),
    _model(lambda w, g, a, b: Kill(_someone(w, a), by=g)),
    _human(lambda w, g, a, b: _seldom(a, Archive(g))),
    _human(lambda w, g, a, b: _seldom(a, StartSuccessor(g, _new(w)))),
    # What a model must never be able to do.
    _model(lambda w, g, a, b: _forbidden(w, g, a, b)),
    _extended,
)


def _forbidden(world: CoreHarness, agent: AgentId, a: int, b: int) -> Command:
    new = _new(world)
    commands: tuple[Command, ...] = (
        Undo(agent),
        Redo(agent),
        AddPin(agent, "p0", _words(a)),
        RemovePin(agent, "p0"),
        Configure(agent, _change(a, b)),
        Archive(agent),
        StartSuccessor(agent, new),
        StartAgent(new),
        StartTurn(agent, (Text(_words(a)),)),
        RecordTurn(agent, (Text(_words(a)),)),
        MaskResults(agent, 1 + b),
        MakeCheckpoint(agent, Saved("c", f"t{b}")),
        StartRevert(agent, Saved("c", f"t{b}"), Destination(1, 1, "then")),
    )
    return commands[a % len(commands)]


def next_steps(world: CoreHarness, operation: Operation) -> list[Step]:
    """The commands for this operation in this state. Most of them go to the same few agents."""
    which, a, b = operation
    running = [agent for agent, state in world.states.items() if state.status == "running"]
    if not running:
        return [Step(StartAgent(_new(world), settings=Settings("scripted", cap=400)))]
    agents = running if which % 16 else list(world.states)
    agent = agents[(0, 0, 0, -1, -1, a % len(agents))[b % 6]]
    return OPERATIONS[which % len(OPERATIONS)](world, agent, a, b)


def histories() -> st.SearchStrategy[list[Operation]]:
    """Lists of operations: short ones, and some that are long enough to combine marks and undos."""
    number = st.integers(0, 255)
    operation = st.tuples(st.integers(0, len(OPERATIONS) - 1), number, number)
    short = st.lists(operation, min_size=1, max_size=12)
    long = st.lists(operation, min_size=20, max_size=60)
    return st.one_of(short, short, long)
