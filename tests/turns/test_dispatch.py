"""Dispatch: a command acts once, on what is true now, or is refused for a reason that is."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from sapwood.core.commands import (
    AddPin,
    AddReply,
    Archive,
    Clear,
    Command,
    CompleteTurn,
    Configure,
    FinishTool,
    Fork,
    KeepLast,
    Kill,
    MaskResults,
    ReadMail,
    Rewind,
    Send,
    SetMark,
    StartAgent,
    StartSuccessor,
    StartTurn,
    Undo,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.history_size import settled
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.log_values import (
    AgentSummary,
    Commit,
    LogError,
    Receipt,
    Snapshot,
    VersionConflict,
    summary_of,
)
from sapwood.core.refusals import (
    AgentExists,
    BadId,
    NotDescendant,
    NotRunning,
    TurnIsOpen,
    UnknownAgent,
    UnknownMark,
)
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.token_count import Count
from sapwood.testing.core_harness import CharacterCounter
from sapwood.turns.log import Log
from sapwood.turns.open_agent import SCHEMA, SNAPSHOT_EVERY, open_agent
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, MODEL, SPACE, Desk

CHILD, SCOUT = AgentId("child"), AgentId("scout")


async def test_a_command_is_stored_and_answered(desk: Desk) -> None:
    await desk.start()
    done = await desk.do(SetMark(AGENT, "HERE"))
    assert (done.message, done.events, done.repeated) == (
        "Marked 'HERE'.",
        (EventRef(AGENT, 2),),
        False,
    )
    (recorded,) = await desk.log.read(SPACE, AGENT, 2)
    assert recorded.kind == "mark.set"


async def test_a_refused_command_stores_nothing(desk: Desk) -> None:
    await desk.start()
    assert await desk.refused(Rewind(AGENT, "HERE")) == UnknownMark("HERE")
    assert await desk.kinds() == ["agent.started"]


async def test_an_unknown_agent_is_refused_and_not_remembered(desk: Desk, other: Desk) -> None:
    assert await desk.refused(SetMark(AGENT)) == UnknownAgent(AGENT)
    await other.start()
    await desk.do(SetMark(AGENT))


async def test_an_id_that_no_store_could_hold_is_not_even_looked_up() -> None:
    nowhere, bad = Desk(cast(Log, None)), AgentId("nul\0")
    assert await nowhere.refused(SetMark(bad)) == BadId(bad)


async def test_spaces_do_not_know_of_each_other(log: MemoryLog, desk: Desk) -> None:
    elsewhere = Desk(log, Space("elsewhere"))
    await desk.start()
    await desk.do(SetMark(AGENT, "HERE"), id="same")
    assert await elsewhere.refused(SetMark(AGENT)) == UnknownAgent(AGENT)
    await elsewhere.start()
    assert not (await elsewhere.do(SetMark(AGENT, "THERE"), id="same")).repeated


# The same command again

TWICE: dict[str, Command] = {
    "a mark": SetMark(AGENT, "NEW"),
    "a prompt": StartTurn(AGENT, (Text("more"),)),
    "a rewind that uses up its mark": Rewind(AGENT),
    "a clear": Clear(AGENT),
    "a trim": KeepLast(AGENT, 1),
    "a fork": Fork(AGENT, CHILD, goal="Look."),
    "a succession": StartSuccessor(AGENT, CHILD),
    "an archiving": Archive(AGENT),
    "a kill": Kill(AGENT),
    "mail": Send(AGENT, "m2", "Look again."),
    "reading mail": ReadMail(AGENT),
    "a new agent": StartAgent(AgentId("another")),
    "a pin": AddPin(AGENT, "rule", "x"),
}


@pytest.mark.parametrize("name", TWICE)
@pytest.mark.parametrize("process", ["the same process", "another process"])
async def test_a_repeated_command_returns_its_first_answer_and_acts_once(
    desk: Desk, other: Desk, name: str, process: str
) -> None:
    await desk.start()
    await desk.turn("ask 1")
    await desk.do(SetMark(AGENT))
    await desk.turn("ask 2")
    await desk.do(Send(AGENT, "m1", "Look."))
    first = await desk.do(TWICE[name], id="once")
    events = len(await desk.log.read(SPACE, AGENT))
    again = await (desk if process == "the same process" else other).do(TWICE[name], id="once")
    assert (again.message, again.events, again.repeated) == (first.message, first.events, True)
    assert len(await desk.log.read(SPACE, AGENT)) == events


async def test_a_command_given_at_once_from_everywhere_acts_once(log: MemoryLog) -> None:
    desks = [Desk(log) for _ in range(10)]
    await desks[0].start()
    answers = await asyncio.gather(
        *(desk.do(SetMark(AGENT, "HERE"), id="once") for desk in desks for _ in range(5))
    )
    assert sum(not done.repeated for done in answers) == 1
    assert len({done.events for done in answers}) == 1
    assert await desks[0].kinds() == ["agent.started", "mark.set"]


async def test_what_was_refused_may_be_tried_again_under_the_same_id(desk: Desk) -> None:
    await desk.start()
    assert await desk.answer(Rewind(AGENT, "HERE"), "once") == UnknownMark("HERE")
    await desk.do(SetMark(AGENT, "HERE"))
    assert not (await desk.do(Rewind(AGENT, "HERE"), "once")).repeated


# Several processes


async def test_a_decision_on_an_outdated_state_is_made_again(desk: Desk, other: Desk) -> None:
    await desk.start()
    await desk.turn()
    await other.do(SetMark(AGENT, "THEIRS"))
    await desk.do(SetMark(AGENT, "OURS"))
    await other.do(Rewind(AGENT, "OURS"))
    state = (await desk.dispatcher.open(AGENT)).state
    assert [mark.name for mark in state.marks] == ["THEIRS", "OURS"]


async def test_an_outdated_memory_refuses_nothing(desk: Desk, other: Desk) -> None:
    await desk.start()
    await desk.prompt()
    await other.do(CompleteTurn(AGENT))
    assert (await desk.do(Clear(AGENT))).message == "Context cleared."


async def test_an_outdated_memory_allows_nothing(desk: Desk, other: Desk) -> None:
    await desk.start()
    await desk.turn()
    await other.prompt()
    assert await desk.refused(Clear(AGENT)) == TurnIsOpen("/clear")
    await other.do(Kill(AGENT))
    assert await desk.refused(SetMark(AGENT)) == NotRunning(AGENT, "killed")


async def test_an_outdated_memory_never_says_that_there_is_nothing_to_do(
    desk: Desk, other: Desk
) -> None:
    await desk.start()
    await desk.turn("ask 1")
    await other.turn("ask 2")
    assert (
        await desk.do(KeepLast(AGENT, 1))
    ).message == "Kept the last turn; 1 turn removed from view."
    await other.do(Send(AGENT, "m1", "Look."))
    assert "Look." in (await desk.do(ReadMail(AGENT))).message


async def test_a_memory_for_one_agent_is_enough_to_be_right(log: MemoryLog, other: Desk) -> None:
    forgetful = Desk(log, kept_open=1)
    await forgetful.start()
    await forgetful.start(SCOUT)
    await forgetful.do(Send(SCOUT, "m1", "Look.", AGENT))
    await other.do(Kill(SCOUT))
    assert isinstance(await forgetful.refused(Send(SCOUT, "m2", "Look.", AGENT)), NotRunning)
    await other.do(Archive(AGENT))
    assert isinstance(await forgetful.refused(Send(SCOUT, "m3", "Look.", AGENT)), NotRunning)
    await other.start(CHILD)
    assert await forgetful.refused(Fork(SCOUT, CHILD)) == AgentExists(CHILD)


async def test_what_others_wrote_is_read_when_an_agent_is_opened(desk: Desk, other: Desk) -> None:
    await desk.start()
    await other.turn("ask", "answer")
    assert await desk.said() == ["ask", "answer"]


async def test_what_was_last_seen_is_not_read_again(desk: Desk, other: Desk) -> None:
    await desk.start()
    await other.turn("ask", "answer")
    assert (await desk.dispatcher.last_seen(AGENT)).live.turns == ()
    assert len((await desk.dispatcher.open(AGENT)).live.turns) == 1
    assert len((await desk.dispatcher.last_seen(AGENT)).live.turns) == 1


async def test_an_agent_that_is_written_to_without_end_is_given_up_politely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sapwood.turns.dispatch._TRIES", 5)

    class Busy(MemoryLog):
        async def commit(self, space: Space, commit: Commit) -> Receipt | None:
            if any(append.expected for append in commit.appends):
                raise VersionConflict(AGENT, commit.appends[0].expected)
            return await super().commit(space, commit)

    desk = Desk(Busy())
    await desk.start()
    with pytest.raises(
        LogError, match=r"ran into other commands\. Nothing was changed\. Try again\."
    ):
        await desk.do(SetMark(AGENT))


# New agents


@pytest.mark.parametrize("who", ["known", "made elsewhere"])
async def test_the_id_of_a_child_or_successor_must_be_new(
    desk: Desk, other: Desk, who: str
) -> None:
    await desk.start()
    await (desk if who == "known" else other).start(SCOUT)
    assert await desk.refused(Fork(AGENT, SCOUT)) == AgentExists(SCOUT)
    assert await desk.refused(StartSuccessor(AGENT, SCOUT)) == AgentExists(SCOUT)
    assert await desk.refused(StartAgent(SCOUT)) == AgentExists(SCOUT)
    assert await desk.kinds() == ["agent.started"]


async def test_a_child_is_opened_with_its_parents_turns(desk: Desk, other: Desk) -> None:
    await desk.start()
    await desk.turn("ask 1", "answer 1")
    await desk.prompt("ask 2")
    await desk.do(Fork(AGENT, CHILD, goal="Look."))
    expected = ["ask 1", "answer 1", "ask 2\n\nLook."]
    assert await desk.said(CHILD) == await other.said(CHILD) == expected


# Kill


async def family_of(desk: Desk, size: int) -> list[AgentId]:
    """A root and so many descendants, in a tree of forks."""
    agents = [await desk.start()]
    for number in range(1, size + 1):
        agents.append(AgentId(f"d{number:03}"))
        await desk.do(
            Fork(agents[(number - 1) // 2], agents[-1], goal="Look." if number % 2 else "")
        )
    return agents


async def test_a_kill_reaches_fifty_descendants_and_closes_their_turns(
    log: MemoryLog, desk: Desk
) -> None:
    agents = await family_of(desk, 50)
    done = await Desk(log).do(Kill(AGENT))
    assert done.message.startswith("Killed lead, d001,")
    for agent in agents:
        state = (await desk.dispatcher.open(agent)).state
        assert (state.status, state.open) == ("killed", None)
        summary = await log.summary(SPACE, agent)
        assert summary is not None
        assert (summary.status, summary.working) == ("killed", False)
    assert (
        len(
            {
                recorded.command
                for agent in agents
                for recorded in (await log.read(SPACE, agent))[-1:]
            }
        )
        == 1
    )


class Meddled(MemoryLog):
    """A log in which something else happens at a chosen moment of a command."""

    meddle: Callable[[], Awaitable[object]] | None = None

    async def _meddled(self) -> None:
        if self.meddle is not None:
            meddle, self.meddle = self.meddle, None
            await meddle()

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """Read by a kill after it has looked at all descendants."""
        await self._meddled()
        return await super().ancestors(space, agent)


@pytest.mark.parametrize("process", ["the same process", "another process"])
@pytest.mark.parametrize(
    "command",
    [CompleteTurn(CHILD), Kill(CHILD), Fork(CHILD, AgentId("grandchild")), SetMark(CHILD)],
    ids=["its turn ends", "it is killed", "it forks", "it goes on"],
)
async def test_what_a_descendant_does_during_a_kill_is_taken_into_account(
    command: Command, process: str
) -> None:
    log = Meddled()
    desk = Desk(log)
    await desk.start()
    await desk.do(Fork(AGENT, CHILD, goal="Look."))
    meddler = desk if process == "the same process" else Desk(log)
    log.meddle = lambda: meddler.do(command)
    await desk.do(Kill(AGENT))
    for agent in (CHILD, *([AgentId("grandchild")] if isinstance(command, Fork) else [])):
        opened = await open_agent(log, SPACE, agent)
        assert (opened.state.status, opened.state.open) == ("killed", None)
    assert (await desk.kinds(CHILD)).count("agent.killed") == 1


async def test_a_model_kills_its_descendants_only(desk: Desk) -> None:
    await family_of(desk, 4)
    d1, d2, d4 = (AgentId(f"d00{number}") for number in (1, 2, 4))
    assert await desk.refused(Kill(d2, by=d1), MODEL) == NotDescendant(d2)
    assert (await desk.do(Kill(d4, by=d1), actor=MODEL)).message == "Killed d004."


# Summaries


async def assert_summary(desk: Desk, agent: AgentId = AGENT) -> None:
    """The stored summary is that of the state."""
    opened = await open_agent(desk.log, desk.space, agent)
    size = settled(opened.live, CharacterCounter(), opened.state.ratio())
    assert await desk.log.summary(desk.space, agent) == summary_of(opened.state, size)


async def test_the_summary_is_right_after_every_command(desk: Desk) -> None:
    await desk.start(settings=Settings("scripted", cap=900))
    commands: tuple[Command, ...] = (
        StartTurn(AGENT, (Text("ask 1"),)),
        AddReply(AGENT, (ToolCall("1", "read"),)),
        FinishTool(AGENT, "1", "x" * 500),
        MaskResults(AGENT, 100),
        AddPin(AGENT, "rule", "x"),
        AddReply(AGENT, (Text("answer"),)),
        CompleteTurn(AGENT),
        SetMark(AGENT, "HERE"),
        StartTurn(AGENT, (Text("ask 2"),)),
        AddReply(AGENT, (ToolCall("1", "read"),)),
        FinishTool(AGENT, "1", "x" * 500),
        CompleteTurn(AGENT),
        KeepLast(AGENT, 1),
        Undo(AGENT),
        Configure(AGENT, SettingsChange(cap=50)),
        Rewind(AGENT, "HERE"),
        Send(AGENT, "m1", "Look."),
        Fork(AGENT, CHILD, goal="Look."),
        Clear(AGENT),
        Archive(AGENT),
    )
    for command in commands:
        await desk.do(command)
        await assert_summary(desk)
    await assert_summary(desk, CHILD)


async def test_the_summary_of_one_who_is_not_opened_keeps_its_size(
    log: MemoryLog, desk: Desk
) -> None:
    await desk.start()
    await desk.turn("12345", "67890")
    await desk.do(Fork(AGENT, CHILD))
    await Desk(log).do(Kill(AGENT))
    summary = await log.summary(SPACE, CHILD)
    assert summary is not None
    assert (summary.tokens, summary.exact, summary.status) == (10, True, "killed")


async def test_masked_results_are_not_counted_at_every_event(log: MemoryLog) -> None:
    class Counting(CharacterCounter):
        texts = 0

        def count(self, text: str) -> Count:
            Counting.texts += 1
            return super().count(text)

    counter = Counting()
    desk = Desk(log, counter_for=lambda model: counter)
    await desk.start()
    await desk.prompt()
    await desk.do(AddReply(AGENT, tuple(ToolCall(f"{n}", "read") for n in range(50))))
    for number in range(50):
        await desk.do(FinishTool(AGENT, f"{number}", "x" * 500))
    await desk.do(CompleteTurn(AGENT))
    await desk.do(MaskResults(AGENT, 100))
    await desk.prompt("again")
    await desk.do(SetMark(AGENT))
    Counting.texts = 0
    for _ in range(10):
        await desk.do(AddReply(AGENT, (Text("and"),)))
    assert Counting.texts == 0


async def test_another_model_is_counted_by_its_own_counter_at_once(log: MemoryLog) -> None:
    class Doubled(CharacterCounter):
        name = "doubled"

        def count(self, text: str) -> Count:
            return Count(2 * len(text), exact=True)

    def counter_for(model: str) -> CharacterCounter:
        return Doubled() if model == "wordy" else CharacterCounter()

    desk = Desk(log, counter_for=counter_for)
    await desk.start(settings=Settings("scripted", cap=100, low_water=1.0))
    for _ in range(4):
        await desk.turn("p" * 10, "r" * 10)
    assert len(await desk.said()) == 8
    await desk.do(Configure(AGENT, SettingsChange(model="wordy")))
    assert len(await desk.said()) == 4
    summary = await log.summary(SPACE, AGENT)
    assert summary is not None
    assert summary.tokens == 80


# Snapshots


async def test_a_snapshot_is_saved_every_so_many_events(log: MemoryLog, desk: Desk) -> None:
    await desk.start()
    for _ in range(SNAPSHOT_EVERY):
        await desk.do(SetMark(AGENT))
    await desk.dispatcher.close()
    snapshot = await log.snapshot(SPACE, AGENT, SCHEMA)
    assert snapshot is not None
    assert snapshot.version == SNAPSHOT_EVERY


async def test_a_snapshot_that_cannot_be_saved_costs_nothing_but_time() -> None:
    class Full(MemoryLog):
        async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
            raise LogError("The disk is full.")

    desk = Desk(Full())
    await desk.start()
    for _ in range(SNAPSHOT_EVERY):
        await desk.do(SetMark(AGENT))
    await desk.dispatcher.close()
    assert len(await desk.kinds()) == SNAPSHOT_EVERY + 1


async def test_a_commit_that_fails_leaves_nothing_behind(log: MemoryLog) -> None:
    class Failing(MemoryLog):
        broken = False

        async def commit(self, space: Space, commit: Commit) -> Receipt | None:
            if self.broken:
                raise LogError("The disk is full. Nothing was stored.")
            return await super().commit(space, commit)

    failing = Failing()
    desk = Desk(failing)
    await desk.start()
    failing.broken = True
    with pytest.raises(LogError, match="disk is full"):
        await desk.do(SetMark(AGENT, "LOST"))
    failing.broken = False
    assert (await desk.dispatcher.open(AGENT)).state.marks == ()
    await desk.do(SetMark(AGENT, "KEPT"))
    assert await desk.kinds() == ["agent.started", "mark.set"]


async def test_only_the_fork_of_a_model_reads_its_whole_family() -> None:
    class Asked(MemoryLog):
        families = 0

        async def family(self, space: Space, agent: AgentId) -> list[AgentSummary]:
            self.families += 1
            return await super().family(space, agent)

    log = Asked()
    desk = Desk(log)
    await desk.start()
    await desk.do(Fork(AGENT, CHILD))
    assert log.families == 0
    await desk.do(Fork(AGENT, SCOUT), actor=MODEL)
    assert log.families == 1
