"""The session of an agent in another program: which history it has, and which rows a turn has."""

from sapwood.core.commands import (
    AddReply,
    Clear,
    Command,
    Compact,
    CompleteTurn,
    Fork,
    RecordDifference,
    RecordNative,
    RecordSync,
    RecordTurn,
    ReturnTo,
    Rewind,
    StartAgent,
    StartTurn,
    Undo,
)
from sapwood.core.content import RecordedReply, Text
from sapwood.core.context import Context
from sapwood.core.event_texts import notice
from sapwood.core.events import SYSTEM, ContextUndone
from sapwood.core.ids import AgentId, Origin, TranscriptRange, TurnRef
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.refusals import HumanOnly, NoTurnOpen, SystemOnly
from sapwood.core.timeline.timeline import IN_VIEW, Timeline
from sapwood.testing import CoreHarness
from sapwood.turns.program_sessions import needs_sync
from tests.core.speaking import MODEL, conversation, does, kinds, last_event, opens, refusal

SESSION = ProgramSession("claude-code", "s1", "s1.jsonl")
ROWS = NativeRows(SESSION, TranscriptRange("row-1", "row-4", 90), "ab12", "t1")
CHILD, IMPORTED = AgentId("child"), AgentId("imported")


def by_system(world: CoreHarness, command: Command) -> None:
    """Sapwood itself gives the command."""
    assert not isinstance(world.do(command, SYSTEM), SystemOnly)


def synced(world: CoreHarness, agent: AgentId, loss: str = "") -> None:
    """The program took over the present history."""
    by_system(world, RecordSync(agent, SESSION, "boundary", world.states[agent].context, loss=loss))


def runs_in_program(world: CoreHarness, agent: AgentId, rows: NativeRows | None = ROWS) -> None:
    """A turn that the program ran; `rows` are known, or not."""
    does(world, StartTurn(agent, (Text("ask"),)))
    does(world, AddReply(agent, (Text("answer"),)))
    if rows is not None:
        by_system(world, RecordNative(agent, rows))
    does(world, CompleteTurn(agent))


def test_an_agent_has_no_session_until_one_is_recorded() -> None:
    world, agent = conversation(1)
    assert world.states[agent].session is None
    assert needs_sync(world.states[agent])
    synced(world, agent)
    held = world.states[agent].session
    assert held is not None
    assert held.session == SESSION
    assert not needs_sync(world.states[agent])


def test_the_rows_of_a_turn_are_part_of_it_and_the_session_has_the_turn() -> None:
    world, agent = conversation(1)
    synced(world, agent)
    runs_in_program(world, agent)
    assert world.lives[agent].turns[-1].native == ROWS
    assert world.read_live(agent) == world.lives[agent]
    assert not needs_sync(world.states[agent])


def test_a_turn_of_unknown_rows_is_not_in_the_session() -> None:
    world, agent = conversation(1)
    synced(world, agent)
    runs_in_program(world, agent, None)
    assert needs_sync(world.states[agent])


def test_a_context_command_leaves_the_session_behind_and_its_undo_does_not() -> None:
    world, agent = conversation(2)
    synced(world, agent)
    does(world, Clear(agent))
    assert needs_sync(world.states[agent])
    does(world, Undo(agent))
    assert not needs_sync(world.states[agent])


def test_the_same_session_is_recorded_once() -> None:
    world, agent = conversation(1)
    synced(world, agent)
    before = len(world.logs[agent])
    synced(world, agent)
    assert len(world.logs[agent]) == before


def test_a_fork_has_no_session_of_its_own_and_the_rows_of_its_parent() -> None:
    world, agent = conversation(1)
    synced(world, agent)
    runs_in_program(world, agent)
    does(world, Fork(agent, CHILD))
    assert world.states[CHILD].session is None
    assert world.lives[CHILD].turns[-1].native == ROWS


def test_an_imported_agent_has_the_session_of_its_transcript_and_follows_its_program() -> None:
    world = CoreHarness()
    origin = Origin("claude-code", "s9", "s9.jsonl")
    by_system(world, StartAgent(IMPORTED, origin=origin))
    for number in (1, 2):
        reply = RecordedReply((Text(f"answer {number}"),))
        passage = TranscriptRange(f"row-{number}", f"row-{number}")
        by_system(world, RecordTurn(IMPORTED, (Text("ask"),), (reply,), passage=passage))
    held = world.states[IMPORTED].session
    assert held is not None
    assert held.session == ProgramSession("claude-code", "s9", "s9.jsonl")
    assert not needs_sync(world.states[IMPORTED])
    by_system(world, ReturnTo(IMPORTED, world.lives[IMPORTED].turns[0].ref))
    assert not needs_sync(world.states[IMPORTED])


def test_people_and_models_record_nothing_about_sessions() -> None:
    world, agent = conversation(1)
    opens(world, agent)
    for command in (
        RecordSync(agent, SESSION, "nothing", world.states[agent].context),
        RecordNative(agent, ROWS),
        RecordDifference(agent, "Turn 3 was sent."),
    ):
        assert refusal(world, command) == SystemOnly(type(command).__name__)
        assert isinstance(refusal(world, command, MODEL), HumanOnly)


def test_rows_are_refused_without_an_open_turn() -> None:
    world, agent = conversation(1)
    assert refusal(world, RecordNative(agent, ROWS), SYSTEM) == NoTurnOpen()


def test_a_difference_and_a_loss_have_a_row_and_the_rest_has_none() -> None:
    world, agent = conversation(1)
    synced(world, agent)
    synced(world, agent, loss="1 image was left out.")
    assert notice(last_event(world, agent)) == ("⚠", "claude-code: 1 image was left out.")
    by_system(world, RecordDifference(agent, "Turn 3 was sent."))
    assert notice(last_event(world, agent))[0] == "⚠"
    timeline = Timeline()
    for recorded in world.logs[agent]:
        timeline.add(recorded)
    rows = [row for row in timeline.rows if row.kind == "event"]
    assert kinds(world, agent)[-3:] == ["session.assumed", "session.assumed", "session.differed"]
    assert len(rows) == 2


def imported_turns(count: int) -> CoreHarness:
    world = CoreHarness()
    by_system(world, StartAgent(IMPORTED, origin=Origin("claude-code", "s9", "s9.jsonl")))
    for number in range(count):
        reply = RecordedReply((Text(f"answer {number}"),))
        passage = TranscriptRange(f"row-{number}", f"row-{number}")
        by_system(world, RecordTurn(IMPORTED, (Text("ask"),), (reply,), passage=passage))
    return world


def rewinds_to_the_first(world: CoreHarness) -> None:
    first, second, *_ = world.lives[IMPORTED].turns
    does(world, Rewind(IMPORTED, before=second.ref, context=Context(first.ref)))


def test_a_turn_aside_changes_nothing_that_is_in_view() -> None:
    world = imported_turns(3)
    last = world.lives[IMPORTED].turns[-1].ref
    rewinds_to_the_first(world)
    context, passage = world.states[IMPORTED].context, TranscriptRange("row-9", "row-9")
    aside = RecordTurn(
        IMPORTED, (Text("/sapwood:rewind"),), passage=passage, aside=True, after=last
    )
    by_system(world, aside)
    assert world.states[IMPORTED].context == context
    assert len(world.lives[IMPORTED].turns) == 1
    assert world.states[IMPORTED].imported_until == passage
    timeline = Timeline()
    for recorded in world.logs[IMPORTED]:
        timeline.add(recorded)
    assert [turn.left == IN_VIEW for turn in timeline.turns] == [True, False, False, False]


def test_a_program_that_goes_on_behind_a_turn_aside_undoes_the_move() -> None:
    world = imported_turns(3)
    last = world.lives[IMPORTED].turns[-1].ref
    rewinds_to_the_first(world)
    aside = RecordTurn(
        IMPORTED,
        (Text("/sapwood:rewind"),),
        passage=TranscriptRange("r", "r"),
        aside=True,
        after=last,
    )
    by_system(world, aside)
    version = world.states[IMPORTED].version
    by_system(world, ReturnTo(IMPORTED, TurnRef(IMPORTED, version, version), after=last))
    assert len(world.lives[IMPORTED].turns) == 4
    assert not world.states[IMPORTED].undo
    assert isinstance(last_event(world, IMPORTED), ContextUndone)


def test_a_program_compacts_its_own_summary_again() -> None:
    world = imported_turns(2)
    by_system(world, Compact(IMPORTED, "The first summary.", keep=0))
    by_system(world, Compact(IMPORTED, "The second summary.", keep=0))
    summary = world.lives[IMPORTED].summary
    assert summary is not None
    assert summary.text == "The second summary."
