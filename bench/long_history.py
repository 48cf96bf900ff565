"""Creates agents with long histories: turns with tools, written directly to a log.

The window clips at every turn, so that an agent of a million events has the same live path as one
of a thousand: the last 100,000 tokens.
"""

from collections.abc import Iterator

from msgspec import Struct

from sapwood.core.commands import Command, CommandMeta, CompleteTurn, Drop
from sapwood.core.content import Text, ToolCall
from sapwood.core.decide import Accepted, DecisionInput, decide
from sapwood.core.events import (
    HUMAN,
    AgentStarted,
    Event,
    ModelCalled,
    Recorded,
    ReplyAdded,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from sapwood.core.evolve import evolve
from sapwood.core.history_size import settled
from sapwood.core.ids import AgentId, CommandId, Space, TurnPlace
from sapwood.core.live_path import EMPTY, LivePath, follow
from sapwood.core.log_values import Append, Commit, Receipt, summary_of
from sapwood.core.settings import Settings
from sapwood.core.state import State
from sapwood.core.token_count import Counter
from sapwood.turns.log import Log
from sapwood.turns.open_agent import SNAPSHOT_EVERY, snapshot_of

CAP = 100_000
TURNS_A_COMMIT = 64

_PROSE = (
    "The parser keeps the offset of the last complete line and hands the rest to the next call. "
    "When the file is rotated the inode changes, so the reader opens it again and starts at zero. "
)


class Grown(Struct, frozen=True):
    """An agent and its state so far."""

    state: State
    live: LivePath


def start(agent: AgentId) -> Grown:
    """A new agent before its first event."""
    return Grown(State(agent), EMPTY)


async def grow(
    log: Log, space: Space, grown: Grown, events: int, counter: Counter, *, drops: bool = False
) -> Grown:
    """Appends turns until the log has at least this many events.

    With `drops`, every other turn is dropped as soon as a newer one has ended.
    """
    commits = 0
    while grown.state.version < events:
        before = grown.state.version
        recorded, grown, snapshots = _write(grown, events, counter, drops)
        commits += 1
        summary = summary_of(grown.state, settled(grown.live, counter, grown.state.ratio()))
        append = Append(grown.state.agent, before, tuple(recorded), summary)
        receipt = Receipt(CommandId(f"{grown.state.agent}-{before}"))
        await log.commit(space, Commit((append,), receipt))
        for state in snapshots:
            await log.save_snapshot(space, snapshot_of(state))
    return grown


def _write(
    grown: Grown, events: int, counter: Counter, drops: bool
) -> tuple[list[Recorded], Grown, list[State]]:
    recorded: list[Recorded] = []
    snapshots: list[State] = []
    turns = 0
    while turns < TURNS_A_COMMIT and grown.state.version < events:
        before = grown.state.version
        for event in _turn(grown.state):
            grown = _add(grown, recorded, event)
        grown = _decide(grown, recorded, counter, CompleteTurn(grown.state.agent))
        turns += 1
        if drops and grown.state.turns % 2 == 0:
            place = TurnPlace(grown.state.turns - 1, grown.state.turns - 1)
            grown = _decide(grown, recorded, counter, Drop(grown.state.agent, (place,)))
        if before // SNAPSHOT_EVERY < grown.state.version // SNAPSHOT_EVERY:
            snapshots.append(grown.state)
    return recorded, grown, snapshots


def _turn(state: State) -> Iterator[Event]:
    """Seven events; the eighth completes the turn."""
    if state.version == 0:
        yield AgentStarted(settings=Settings(model="claude-sonnet", cap=CAP, low_water=1.0))
    number = state.version
    call = ToolCall(f"call{number}", "read_file", f'{{"path":"src/reader_{number % 97}.py"}}')
    prompt = (Text(f"Look at reader {number}. {_PROSE}"),)
    yield TurnStarted(state.context.tip, prompt, number=state.turns + 1)
    yield ModelCalled("claude-sonnet", state.context, "0" * 64, estimate=1000)
    yield ReplyAdded((Text(f"I read it first. {_PROSE}"), call))
    yield ToolStarted(call.id)
    yield ToolFinished(call.id, f"{number}: {_PROSE * 13}")
    yield ModelCalled("claude-sonnet", state.context, "0" * 64, estimate=1000)
    yield ReplyAdded((Text(f"Reader {number} is right. {_PROSE * 5}"),))


def _decide(grown: Grown, recorded: list[Recorded], counter: Counter, command: Command) -> Grown:
    scene = DecisionInput(grown.state, grown.live, counter)
    decision = decide(scene, command, CommandMeta(CommandId("complete"), 1_700_000_000_000_000))
    if not isinstance(decision, Accepted):
        raise RuntimeError(decision.sentence)
    for event in decision.changes[0].events:
        grown = _add(grown, recorded, event)
    return grown


def _add(grown: Grown, recorded: list[Recorded], event: Event) -> Grown:
    version = grown.state.version + 1
    at = 1_700_000_000_000_000 + version
    one = Recorded(grown.state.agent, version, event, at, HUMAN, CommandId(f"c{version}"))
    recorded.append(one)
    state = evolve(grown.state, one)
    live = follow(grown.live, one, state.context)
    if live is None:
        raise RuntimeError("a conversation that only grows never jumps")
    return Grown(state, live)
