"""Rows are derived from events alone, and tell what the model can see."""

from sapwood.api import Agent, Sapwood, open
from sapwood.core.commands import (
    AddReply,
    Clear,
    CompleteTurn,
    Drop,
    FinishTool,
    Redo,
    Restore,
    StartTurn,
    Undo,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import SYSTEM, Recorded, ReplyLost, TurnStarted
from sapwood.core.ids import AgentId, CommandId, TurnPlace
from sapwood.core.live_path import LivePath
from sapwood.core.timeline.layout import Page, is_dim, lay_out
from sapwood.core.timeline.row_content import (
    MessageEvent,
    Notice,
    ReplyText,
    content_of,
    message_parts,
)
from sapwood.core.timeline.rows import Banner, Divider, Fold, Row, TimelineRow
from sapwood.core.timeline.timeline import Timeline
from sapwood.testing.core_harness import CoreHarness


async def told(agent: Agent) -> Timeline:
    """The timeline of an agent, from its whole log."""
    timeline = Timeline()
    for recorded in await agent.events():
        timeline.add(recorded)
    return timeline


def kinds(page: list[TimelineRow]) -> list[str]:
    return [row.kind if isinstance(row, Row) else type(row).__name__.lower() for row in page]


async def talk(db: Sapwood, turns: int, cap: int = 100_000) -> Agent:
    agent = await db.start("demo", cap=cap)
    for number in range(turns):
        await agent.record(f"Question {number}?", f"Answer {number}.")
    return agent


async def test_a_turn_is_a_prompt_and_a_reply() -> None:
    async with open(":memory:") as db:
        timeline = await told(await talk(db, 2))
        assert kinds(lay_out(timeline)) == ["prompt", "reply"] * 2


async def test_a_reply_that_was_cut_off_ends_with_a_row_that_says_so() -> None:
    async with open(":memory:") as db:
        agent = await db.start("demo")
        await agent.run_command("Tell me.")
        await agent.do(AddReply(agent.id, (Text("Once upon"),), ended="length"))
        timeline = await told(agent)
        assert kinds(lay_out(timeline)) == ["prompt", "reply", "reply"]
        event = (await agent.events())[-1].event
        assert isinstance(event, MessageEvent)
        assert message_parts(event)[-1] == Text(
            "[cut off: the reply ran into the limit of its length]"
        )


async def test_words_of_a_lost_reply_stay_with_a_row_that_says_what_it_cost() -> None:
    timeline = Timeline()
    agent = AgentId("a")
    lost = ReplyLost((Text("Once upon"),), "gpt-5", 12_000, 3)
    for version, event in enumerate((TurnStarted(None, (Text("Tell me."),)), lost), 1):
        timeline.add(Recorded(agent, version, event, 0, SYSTEM, CommandId("c")))
    page = lay_out(timeline)
    assert kinds(page) == ["prompt", "reply", "event"]

    def lookup(_: AgentId, version: int) -> Recorded:
        return Recorded(agent, version, lost, 0, SYSTEM, CommandId("c"))

    assert content_of(page[1], lookup) == ReplyText("Once upon", "gpt-5")
    words = content_of(page[2], lookup)
    assert isinstance(words, Notice)
    assert words.words.startswith(
        "Sapwood ended before this answer was complete, so the model was asked again; "
        "the provider may bill both (~12k tokens)"
    )


async def test_what_was_cleared_is_one_fold_that_counts_its_messages() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 5)
        await agent.clear(2)
        page = lay_out(await told(agent))
        fold = page[0]
        assert isinstance(fold, Fold)
        assert (fold.messages, fold.cause) == (6, "/clear 2")
        assert kinds(page[1:]) == ["prompt", "reply"] * 2


async def test_an_opened_fold_shows_what_is_in_it_dimmed() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 3)
        await agent.clear(1)
        timeline = await told(agent)
        page = Page(timeline)
        page.toggle(page.shown[0].key)
        assert kinds(page.shown) == ["fold", *["prompt", "reply"] * 3]
        assert [is_dim(timeline, row) for row in page.shown] == [False, *[True] * 4, *[False] * 2]


async def test_undo_brings_rows_back_into_view() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 3)
        await agent.clear(1)
        await agent.undo()
        timeline = await told(agent)
        page = lay_out(timeline)
        assert "fold" not in kinds(page)
        assert not any(is_dim(timeline, row) for row in page)


async def test_the_window_has_a_divider_and_what_it_clipped_stays_open() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 40, cap=100)
        timeline = await told(agent)
        page = lay_out(timeline)
        place = kinds(page).index("divider")
        divider = page[place]
        assert isinstance(divider, Divider)
        assert divider.turns == place / 2
        assert all(is_dim(timeline, row) for row in page[:place])
        assert not any(is_dim(timeline, row) for row in page[place:])


async def test_a_rewind_folds_what_came_after_the_mark() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 1)
        await agent.mark("START")
        await agent.record("Aside?", "Yes.")
        await agent.rewind("START")
        await agent.record("On?", "On.")
        page = lay_out(await told(agent))
        assert kinds(page) == ["prompt", "reply", "mark", "fold", "event", "prompt", "reply"]
        fold = page[3]
        assert isinstance(fold, Fold)
        assert fold.cause == "/rewind START"


async def test_the_notice_of_a_retry_leaves_and_returns_with_the_turn_that_it_started() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 1)
        await agent.run_command("/retry")
        await agent.interrupt()
        timeline = await told(agent)
        with_retry = ["fold", "event", "prompt", "end"]
        assert kinds(lay_out(timeline)) == with_retry
        notice, prompt = timeline.rows[2:4]
        await agent.run_command("/undo")
        timeline = await told(agent)
        assert kinds(lay_out(timeline)) == ["prompt", "reply", "fold", "event"]
        assert is_dim(timeline, notice)
        assert is_dim(timeline, prompt)
        await agent.run_command("/redo")
        assert kinds(lay_out(await told(agent))) == [*with_retry, "event", "event"]
        await agent.run_command("/rewind 2")
        assert kinds(lay_out(await told(agent))) == ["fold", "fold", *["event"] * 3]


async def test_a_page_that_showed_the_notice_of_a_retry_folds_it_too() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 1)
        await agent.run_command("/retry")
        await agent.interrupt()
        await agent.run_command("/undo")
        timeline = Timeline()
        page = Page(timeline)
        for recorded in await agent.events():
            timeline.add(recorded)
            page.update()
        assert page.shown == lay_out(timeline)


async def test_what_is_in_view_is_what_the_live_path_holds() -> None:
    """The rows agree with the walk that requests are built from."""
    async with open(":memory:") as db:
        agent = await talk(db, 30, cap=120)
        await agent.mark("M")
        for number in range(5):
            await agent.record(f"More {number}?", "Yes.")
        await agent.rewind("M")
        await agent.clear(2)
        await agent.undo()
        await agent.record("Last?", "Last.")
        timeline = await told(agent)
        live: LivePath = (await db.connection.dispatcher.open(agent.id)).live
        shown = {
            row.version for row in timeline.rows if row.turn >= 0 and not is_dim(timeline, row)
        }
        assert shown == {turn.first for turn in live.turns}


async def test_a_compaction_leaves_a_fold_and_a_banner() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 4)
        await agent.compact("What was said.", keep=1)
        page = lay_out(await told(agent))
        assert kinds(page) == ["fold", "banner", "prompt", "reply"]
        assert isinstance(page[1], Banner)


async def test_a_child_shows_what_it_inherited() -> None:
    async with open(":memory:") as db:
        parent = await talk(db, 2)
        child = await parent.fork()
        timeline = Timeline()
        opened = await db.connection.dispatcher.open(child.id)
        timeline.inherit(opened.live.turns, {parent.id: "lead"})
        for recorded in await child.events():
            timeline.add(recorded)
        page = lay_out(timeline)
        assert kinds(page) == ["prompt", "reply"] * 2
        assert [row.place for row in timeline.rows] == ["lead/1"] * 2 + ["lead/2"] * 2
        assert not any(is_dim(timeline, row) for row in page)
        assert isinstance(opened.live.turns[0].prompt[0], Text)


def test_a_dropped_result_marks_its_row_until_it_is_back() -> None:
    world = CoreHarness()
    agent = world.start()
    world.do(StartTurn(agent, (Text("Look."),)))
    for call in ("a", "b"):
        world.do(AddReply(agent, (ToolCall(call, "read", "{}"),)))
        world.do(FinishTool(agent, call, f"{call} " * 200))
    world.do(AddReply(agent, (Text("Done."),)))
    world.do(CompleteTurn(agent))
    world.turn(agent, "And?", "Nothing.")

    def dropped() -> list[str]:
        timeline = Timeline()
        for recorded in world.logs[agent]:
            timeline.add(recorded)
        return [row.dropped for row in timeline.rows if row.kind == "tool"]

    for command, places in (
        (Drop(agent, (TurnPlace(1, 1, 2),)), ["", "1.2"]),
        (Drop(agent, (TurnPlace(1, 1),), only_results=True), ["1.1", "1.2"]),
        (Undo(agent), ["", "1.2"]),
        (Redo(agent), ["1.1", "1.2"]),
        (Restore(agent, (TurnPlace(1, 1, 2),)), ["1.1", ""]),
        (Clear(agent), ["", ""]),
        (Undo(agent), ["1.1", ""]),
    ):
        world.do(command)
        assert dropped() == places, command
