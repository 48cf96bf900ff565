"""Rows are printed once, when they are finished; what leaves view later is told as it leaves."""

from sapwood.api import Agent, open
from sapwood.core.commands import AddReply, FinishTool
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import Recorded
from sapwood.core.timeline.rows import Banner, Fold, Row
from sapwood.core.timeline.timeline import Timeline
from sapwood.tui.inline.print_queue import PrintItem, PrintQueue, Rule, messages_in


def words(items: list[PrintItem]) -> list[str]:
    """What is printed, in a word each."""
    found: list[str] = []
    for item in items:
        match item.what:
            case Row(kind):
                found.append(kind)
            case Fold(cause=cause, messages=messages):
                found.append(f"{messages} pruned · {cause}")
            case Banner():
                found.append("summary")
            case Rule(text):
                found.append(text)
            case _:
                found.append("divider")
    return found


class _FollowedAgent:
    """A print queue that is kept up to date with an agent."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.timeline = Timeline()
        self.queue = PrintQueue(self.timeline)

    async def take(self) -> list[str]:
        for recorded in await self.agent.events(self.timeline.version + 1):
            self.timeline.add(recorded)
        return words(self.queue.take())


async def test_what_was_said_is_printed_once() -> None:
    async with open(":memory:") as db:
        followed = _FollowedAgent(await db.start("demo"))
        await followed.agent.record("One?", "One.")
        assert await followed.take() == ["prompt", "reply"]
        assert await followed.take() == []
        await followed.agent.mark("HERE")
        await followed.agent.record("Two?", "Two.")
        assert await followed.take() == ["mark", "prompt", "reply"]


async def test_a_call_waits_for_its_result_and_holds_up_what_follows() -> None:
    async with open(":memory:") as db:
        followed = _FollowedAgent(await db.start("demo"))
        agent = followed.agent
        await agent.run_command("Look.")
        calls = (ToolCall("a", "read_file", "{}"), ToolCall("b", "read_file", "{}"))
        await agent.do(AddReply(agent.id, (Text("I look."), *calls)))
        assert await followed.take() == ["prompt", "reply"]
        assert [row.kind for row in followed.queue.unfinished] == ["tool", "tool"]
        await agent.do(FinishTool(agent.id, "b", "second"))
        assert await followed.take() == []
        await agent.do(FinishTool(agent.id, "a", "first"))
        assert await followed.take() == ["tool", "tool"]
        assert not followed.queue.unfinished


async def test_what_leaves_view_is_told_with_its_cause() -> None:
    async with open(":memory:") as db:
        followed = _FollowedAgent(await db.start("demo"))
        agent = followed.agent
        for number in range(3):
            await agent.record(f"Question {number}?", f"Answer {number}.")
        await followed.take()
        await agent.clear(1)
        assert await followed.take() == ["4 pruned · /clear 1"]
        await agent.mark("HERE")
        await agent.record("Aside?", "Aside.")
        assert await followed.take() == ["mark", "prompt", "reply"]
        await agent.rewind("HERE")
        assert await followed.take() == ["event", "2 pruned · /rewind HERE"]
        await agent.undo()
        assert await followed.take() == ["event", "2 messages back in view · /undo"]
        await agent.compact("In short.", score=0.9)
        assert await followed.take() == ["4 pruned · /compact", "summary"]


async def test_what_the_window_clips_is_told_with_where_the_model_begins_to_see() -> None:
    async with open(":memory:") as db:
        followed = _FollowedAgent(await db.start("demo", cap=0))
        agent = followed.agent
        for number in range(3):
            await agent.record(f"Question {number}? " + "word " * 40, "An answer. " * 20)
        await followed.take()
        await agent.configure(cap=150)
        await agent.record("And now?", "Now.")
        clipped = [each for each in await followed.take() if each.startswith("▲")]
        seen = next(row for row in followed.timeline.rows if not _is_clipped(followed, row))
        assert clipped[-1].startswith(f"▲ model can't see above #{seen.place} · ")
        assert " clipped · " in clipped[-1]


def _is_clipped(followed: _FollowedAgent, row: Row) -> bool:
    return row.turn < 0 or followed.timeline.turns[row.turn].left >= 0


async def test_an_opening_shows_the_page_and_leaves_out_what_is_under_way() -> None:
    async with open(":memory:") as db:
        agent = await db.start("demo")
        for number in range(3):
            await agent.record(f"Question {number}?", f"Answer {number}.")
        await agent.clear(1)
        await agent.run_command("Look.")
        await agent.do(AddReply(agent.id, (ToolCall("a", "read_file", "{}"),)))
        queue = PrintQueue(_told(await agent.events()))
        items = queue.finished_rows()
        assert words(items) == ["4 pruned · /clear 1", "prompt", "reply", "prompt"]
        assert messages_in(items) == 7
        assert [row.kind for row in queue.unfinished] == ["tool"]


async def test_what_becomes_known_of_the_past_is_not_printed() -> None:
    async with open(":memory:") as db:
        agent = await db.start("demo")
        for number in range(5):
            await agent.record(f"Question {number}?", f"Answer {number}.")
        await agent.clear(4)
        events = await agent.events()
        queue = PrintQueue(_told(events[-3:]))
        await agent.record("Meanwhile?", "Meanwhile.")
        queue.complete(_told(await agent.events()))
        assert words(queue.take()) == ["prompt", "reply"], "only what came meanwhile"
        assert words(queue.take()) == []


def _told(events: list[Recorded]) -> Timeline:
    timeline = Timeline()
    for recorded in events:
        timeline.add(recorded)
    return timeline
