"""The history of a session: exactly what the view sends, with the program's own rows."""

from sapwood.core.commands import (
    AddPin,
    Compact,
    CompleteTurn,
    Fork,
    InterruptTurn,
    MaskResults,
    RecordNative,
    RecordSync,
    RecordTurn,
    StartAgent,
)
from sapwood.core.content import RecordedReply, Text
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId, Origin, TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.view.request import Message
from sapwood.testing import CoreHarness
from sapwood.turns.program_sessions import (
    history_of,
    needs_sync,
    pins_digest,
    read_history,
    sent_prompt,
)
from tests.core.speaking import conversation, does, opens, uses_tool
from tests.turns.commanding import Desk

SESSION = ProgramSession("codex", "t1")
IMPORTED, CHILD = AgentId("imported"), AgentId("child")


def sent(world: CoreHarness, agent: AgentId) -> list[Message]:
    """The messages of the history, with the texts in front in the first of them."""
    history = history_of(world.states[agent], world.lives[agent])
    messages = [message for turn in history.turns for message in turn.messages]
    front = tuple(Text(text) for text in history.front)
    return [Message("user", (*front, *messages[0].parts)), *messages[1:]]


def test_the_history_is_what_the_view_sends() -> None:
    world, agent = conversation(2)
    uses_tool(world, agent, "a result")
    assert sent(world, agent) == list(world.request(agent).messages)
    does(world, Compact(agent, "They counted.", keep=1))
    assert sent(world, agent) == list(world.request(agent).messages)


def test_an_interrupted_turn_is_told_with_the_next_prompt() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    does(world, InterruptTurn(agent))
    opens(world, agent, "ask 3")
    told, asked = sent_prompt(world.lives[agent])
    assert "was interrupted" in told.text
    assert asked == Text("ask 3")
    history = history_of(world.states[agent], world.lives[agent])
    assert len(history.turns) == 2, "the open turn is no part of the history"


def test_pins_stand_in_front_and_a_new_pin_leaves_the_session_behind() -> None:
    world, agent = conversation(1)
    does(world, AddPin(agent, "style", "Be brief."))
    state = world.states[agent]
    assert history_of(state, world.lives[agent]).front == (
        "[Pinned by the user: style]\nBe brief.",
    )
    record = RecordSync(agent, SESSION, "inject", state.context, pins=pins_digest(state.pins))
    world.do(record, SYSTEM)
    assert not needs_sync(world.states[agent], "codex")
    assert needs_sync(world.states[agent], "claude-code")
    does(world, AddPin(agent, "style", "Be long."))
    assert needs_sync(world.states[agent], "codex")


def test_a_turn_with_masked_results_is_written_anew() -> None:
    world, agent = conversation(0)
    uses_tool(world, agent, "x" * 5_000)
    opens(world, agent)
    rows = NativeRows(SESSION, TranscriptRange("r1", "r2"))
    world.do(RecordNative(agent, rows), SYSTEM)
    does(world, CompleteTurn(agent))
    does(world, MaskResults(agent, 1_000))
    history = history_of(world.states[agent], world.lives[agent])
    assert [turn.native for turn in history.turns] == [None, rows]
    assert "[masked: 5,000 characters" in str(history.turns[0].messages)


async def test_the_turns_of_an_imported_parent_have_the_rows_of_its_transcript(
    desk: Desk,
) -> None:
    origin = Origin("claude-code", "s9", "s9.jsonl")
    await desk.do(StartAgent(IMPORTED, origin=origin), actor=SYSTEM)
    reply, passage = RecordedReply((Text("answer"),)), TranscriptRange("row-1", "row-2", 7)
    record = RecordTurn(IMPORTED, (Text("ask"),), (reply,), passage=passage)
    await desk.do(record, actor=SYSTEM)
    await desk.do(Fork(IMPORTED, CHILD))
    child = await desk.dispatcher.open(CHILD)
    assert history_of(child.state, child.live).turns[0].native is None
    history = await read_history(desk.log, desk.space, child.state, child.live)
    session = ProgramSession("claude-code", "s9", "s9.jsonl")
    assert history.turns[0].native == NativeRows(session, passage)
    parent = await desk.dispatcher.open(IMPORTED)
    assert history_of(parent.state, parent.live).turns[0].native == NativeRows(session, passage)
