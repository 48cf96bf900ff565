"""Events that cannot be read have no effect, whichever they are: agents open, show and go on."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from proofs.histories import Operation, histories, next_steps
from sapwood.core.commands import CommandMeta, CompleteTurn, InterruptTurn, RecordTurn, StartTurn
from sapwood.core.content import RecordedReply, Text
from sapwood.core.events import SYSTEM, Recorded, TurnStarted, UnreadableEvent
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt
from sapwood.core.turn import Reply
from sapwood.core.view import check, view
from sapwood.testing import CoreHarness
from sapwood.testing.core_harness import CharacterCounter
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.open_agent import open_agent
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import SPACE

ADA = AgentId("ada")


def unread(recorded: Recorded, *, newer: bool = False) -> Recorded:
    kind = "turn.dreamt" if newer else recorded.kind
    return structs.replace(recorded, event=UnreadableEvent(kind, b"{}", "a test", newer))


async def log_of(logs: dict[AgentId, list[Recorded]]) -> MemoryLog:
    log = MemoryLog()
    for agent, events in logs.items():
        append = Append(agent, 0, tuple(events), AgentSummary(agent, len(events)))
        await log.commit(SPACE, Commit((append,), Receipt(CommandId(f"all of {agent}"))))
    return log


async def goes_on(log: MemoryLog, agent: AgentId) -> None:
    """The agent opens, its request is valid, and it takes another turn if it is running."""
    opened = await open_agent(log, SPACE, agent)
    request = view(opened.state, opened.live)
    assert check(request, opened.state, opened.live) == []
    dispatcher = Dispatcher(log, SPACE, lambda _: CharacterCounter())
    given_ = (CommandMeta(CommandId(f"{agent} {n}"), 10**15 + n, SYSTEM) for n in range(9))
    if opened.state.status != "running" or opened.state.reverting is not None:
        return
    if opened.state.open is not None:
        ended = await dispatcher.dispatch(InterruptTurn(agent), next(given_))
        assert isinstance(ended, Done), ended
    turn = RecordTurn(agent, (Text("still there?"),), (RecordedReply((Text("yes"),)),))
    done = await dispatcher.dispatch(turn, next(given_))
    assert isinstance(done, Done), done
    after = await open_agent(log, SPACE, agent)
    assert after.live.turns[-1].prompt[-1] == Text("still there?")
    kept = await dispatcher.open(agent)
    assert (kept.state, kept.live) == (after.state, after.live)


@given(histories(), st.integers(0, 10**6), st.booleans())
async def test_any_event_of_a_history_may_be_unreadable(
    operations: list[Operation], seed: int, newer: bool
) -> None:
    world, random = CoreHarness(), Random(seed)
    for operation in operations:
        for step in next_steps(world, operation):
            world.do(step.command, step.actor, step.call)
    logs = {
        agent: [unread(e, newer=newer) if random.random() < 0.15 else e for e in events]
        for agent, events in world.logs.items()
    }
    log = await log_of(logs)
    for agent in logs:
        await goes_on(log, agent)


async def log_without(kind: str) -> tuple[MemoryLog, AgentId]:
    """Two turns of which every event of one kind is unreadable."""
    world = CoreHarness()
    agent = world.start()
    world.turn(agent, "first", "one")
    world.turn(agent, "second", "two")
    events = [unread(each) if each.kind == kind else each for each in world.logs[agent]]
    return await log_of({agent: events}), agent


async def test_a_turn_whose_prompt_is_unreadable_says_so_and_keeps_its_answer() -> None:
    log, agent = await log_without("turn.started")
    live = (await open_agent(log, SPACE, agent)).live
    (turn,) = live.turns  # what was before it is not known
    assert "cannot be read: a test" in turn.prompt[0].text
    assert [item.parts for item in turn.items if isinstance(item, Reply)] == [(Text("two"),)]
    assert turn.status == "completed"


async def test_a_turn_whose_end_is_unreadable_has_ended() -> None:
    log, agent = await log_without("turn.completed")
    opened = await open_agent(log, SPACE, agent)
    assert opened.state.open is None
    assert [turn.status for turn in opened.live.turns] == ["interrupted", "interrupted"]


async def test_a_turn_whose_reply_is_unreadable_still_closes() -> None:
    world = CoreHarness()
    agent = world.start()
    world.do(StartTurn(agent, (Text("hello"),)))
    events = list(world.logs[agent])
    events.append(unread(structs.replace(events[-1], version=len(events) + 1), newer=True))
    log = await log_of({agent: events})
    dispatcher = Dispatcher(log, SPACE, lambda _: CharacterCounter())
    done = await dispatcher.dispatch(CompleteTurn(agent), CommandMeta(CommandId("c"), 10**15))
    assert isinstance(done, Done)
    assert (await open_agent(log, SPACE, agent)).state.open is None


async def test_an_agent_whose_start_is_unreadable_runs_without_its_settings() -> None:
    log, agent = await log_without("agent.started")
    opened = await open_agent(log, SPACE, agent)
    assert opened.state.status == "running"
    assert [turn.prompt for turn in opened.live.turns] == [(Text("first"),), (Text("second"),)]
    assert isinstance((await log.read(SPACE, agent, 2, 2))[0].event, TurnStarted)
