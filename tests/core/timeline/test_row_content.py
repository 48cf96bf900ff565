"""Every event kind has a place: as a row with content, or with none on purpose."""

from typing import get_args

import msgspec
import pytest

from sapwood.api import open
from sapwood.conversation.timeline_reader import ConversationRows, read_conversation
from sapwood.core.commands import AddReply, FinishTool
from sapwood.core.content import Note, Text, ToolCall
from sapwood.core.event_texts import event_summary
from sapwood.core.events import SYSTEM, Event, Recorded, TurnStarted
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.timeline.row_content import NoteText, RowContent, ToolUse, content_of
from sapwood.core.timeline.rows import Banner, TimelineRow, call_arguments, edge_label, note_label
from sapwood.core.timeline.timeline import Timeline
from tests.core.events.examples import EXAMPLES, NAMES
from tests.tui.conversations import every_kind

A = AgentId("lead")


def recorded(version: int, event: Event) -> Recorded:
    return Recorded(A, version, event, 0, SYSTEM, CommandId(f"c{version}"))


@pytest.mark.parametrize("event", EXAMPLES, ids=NAMES)
def test_the_timeline_takes_every_kind_and_each_row_has_content(event: Event) -> None:
    timeline = Timeline()
    log = [recorded(1, TurnStarted(None, (Text("Hello."),))), recorded(2, event)]
    for each in log:
        timeline.add(each)
    for row in timeline.rows:
        assert isinstance(content_of(row, lambda _, version: log[version - 1]), RowContent)


@pytest.mark.parametrize("event", EXAMPLES, ids=NAMES)
def test_the_summary_of_every_kind_is_one_line(event: Event) -> None:
    summary = event_summary(event)
    assert summary == " ".join(summary.split())


async def test_rows_with_content_are_json_that_a_page_can_draw() -> None:
    async with open(":memory:") as db:
        agent = await every_kind(db)
        held = db.connection
        read = await read_conversation(held.log, held.space, agent.id, everything=True)
    encoded = msgspec.json.encode(read)
    assert msgspec.json.decode(encoded, type=ConversationRows) == read
    tags = {type(each.content).__struct_config__.tag for each in read.rows}
    assert tags == {kind.__struct_config__.tag for kind in get_args(RowContent)}
    assert {type(each.row) for each in read.rows} == set(get_args(TimelineRow))


async def test_a_tool_call_has_its_result_once_that_is_there() -> None:
    async with open(":memory:") as db:
        agent = await db.start("demo")
        await agent.run_command("Look.")
        await agent.do(AddReply(agent.id, (ToolCall("1", "read_file", "{}"),)))
        held = db.connection
        before = (await read_conversation(held.log, held.space, agent.id)).rows[-1].content
        assert before == ToolUse(ToolCall("1", "read_file", "{}"))
        await agent.do(FinishTool(agent.id, "1", "no such file", error=True))
        after = (await read_conversation(held.log, held.space, agent.id)).rows[-1].content
        assert isinstance(after, ToolUse)
        assert after.result is not None
        assert (after.result.content, after.result.error) == ("no such file", True)


def test_a_row_whose_event_is_of_another_kind_is_an_error() -> None:
    timeline = Timeline()
    timeline.add(recorded(1, TurnStarted(None, (Note("mail", "Red.", "abc"), Text("Why?")))))
    note, prompt = timeline.rows
    same = recorded(1, TurnStarted(None, (Note("mail", "Red.", "abc"), Text("Why?"))))
    assert content_of(note, lambda _, __: same) == NoteText("mail from abc", "Red.")
    other = next(event for event in EXAMPLES if event.kind == "turn.completed")
    with pytest.raises(ValueError, match="not a message"):
        content_of(prompt, lambda _, __: recorded(1, other))


def test_arguments_that_are_no_object_are_shown_as_they_are() -> None:
    assert call_arguments('["a",\n "b"]') == '["a", "b"]'
    assert call_arguments('{"path": ') == '{"path":'
    assert call_arguments('{"half": "\ud83c"}') == '{"half": "\ud83c"}'


def test_notes_name_where_they_come_from() -> None:
    assert note_label(Note("mail", "x")) == "mail from outside"
    assert note_label(Note("delegated", "x", "abc")) == "delegated to abc"
    assert note_label(Note("program", "x")) == "added by the program"


def test_a_summary_in_view_needs_no_line_of_its_own() -> None:
    assert edge_label(Banner(None, 2, 0)) == ""
