"""Nothing moves that the reader did not move: steps, folds, sizes, streams, the window."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from sapwood.api import Agent, Sapwood
from sapwood.app.connection import Connection, connect
from sapwood.conversation.timeline_reader import EventCache
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.timeline.rows import Fold, Row
from sapwood.core.timeline.timeline import Timeline
from tests.tui.conversations import long_talk, with_tools
from tests.tui.stage import Stage, on_stage, until


@asynccontextmanager
async def reading(
    prepare: Callable[[Sapwood], Awaitable[Agent]], size: tuple[int, int] = (100, 30)
) -> AsyncGenerator[tuple[Stage, Agent]]:
    """A prepared conversation on the screen."""
    connection: Connection = await connect(":memory:")
    agent = await prepare(Sapwood(connection))
    async with on_stage(agent.id, connection=connection, size=size, delay=0.01) as stage:
        yield stage, agent
    await connection.close()


@pytest.mark.night
async def test_each_step_through_400_unmeasured_lines_moves_exactly_one_line() -> None:
    async with reading(lambda db: long_talk(db, 120)) as (stage, _):
        before = stage.lines()
        for _ in range(400):
            await stage.transcript.action_scroll(-1)
            after = stage.lines()
            assert after[1:] == before[:-1]
            before = after


async def test_steps_back_lead_to_where_they_came_from() -> None:
    async with reading(lambda db: long_talk(db, 60)) as (stage, _):
        end = stage.text()
        await stage.transcript.action_scroll(-123)
        assert stage.text() != end
        await stage.transcript.action_scroll(123)
        assert stage.text() == end
        assert stage.transcript.view.follows


@pytest.mark.parametrize("step", [-100_000, 100_000])
async def test_no_step_leads_past_an_end(step: int) -> None:
    async with reading(lambda db: long_talk(db, 30)) as (stage, _):
        await stage.transcript.action_scroll(step)
        place = stage.text()
        await stage.transcript.action_scroll(step)
        assert stage.text() == place


async def test_opening_a_block_keeps_the_clicked_row() -> None:
    async with reading(with_tools) as (stage, _):
        await stage.transcript.action_scroll(-20)
        y = next(y for y, line in enumerate(stage.lines()) if "read_file" in line and y > 4)
        line = stage.lines()[y]
        await stage.pilot.click("#transcript", offset=(8, y))
        await stage.sees("line 9 of file")
        assert stage.lines()[y][1:] == line[1:]
        await stage.pilot.click("#transcript", offset=(8, y))
        await until(lambda: "line 9 of file" not in stage.text())
        assert stage.lines()[y][1:] == line[1:]


async def test_opening_a_fold_keeps_its_line() -> None:
    async def prepare(db: Sapwood) -> Agent:
        agent = await long_talk(db, 60)
        await agent.clear(12)
        return agent

    async with reading(prepare) as (stage, _):
        await stage.transcript.action_start()
        await stage.transcript.action_scroll(1)
        fold = stage.transcript.page.shown[0]
        assert isinstance(fold, Fold)
        await stage.pilot.press("ctrl+o")
        assert "Question 0?" in stage.text()
        assert "▾ " in stage.text().splitlines()[0] + stage.text().splitlines()[1]


async def test_another_size_keeps_the_row_that_is_read() -> None:
    async with reading(lambda db: long_talk(db, 80)) as (stage, _):
        await stage.transcript.action_scroll(-90)
        view = stage.transcript.view
        row = stage.transcript.page.shown[view.top].key
        for size in ((70, 20), (140, 45), (100, 30)):
            await stage.pilot.resize_terminal(*size)
            await stage.pilot.pause()
            assert stage.transcript.page.shown[view.top].key == row


async def test_a_stream_never_moves_a_reader_who_scrolled_up() -> None:
    async with reading(lambda db: long_talk(db, 40)) as (stage, agent):
        await agent.configure(model="claude-sonnet-5-5")
        stage.server.replies(["word " * 800])
        await stage.type("Go.")
        await stage.sees("word word")
        await stage.pilot.press("pageup")
        await stage.pilot.press("pageup")
        place = stage.lines()
        for _ in range(30):
            await stage.pilot.pause(0.02)
            assert stage.lines() == place
        assert not stage.transcript.view.follows


async def test_the_end_is_followed_again_after_coming_back_to_it() -> None:
    async with reading(lambda db: long_talk(db, 40)) as (stage, agent):
        await stage.pilot.press("pageup")
        await agent.record("While away?", "Yes.")
        await stage.pilot.pause(0.2)
        assert "While away?" not in stage.text()
        await stage.pilot.press("ctrl+end")
        await stage.sees("While away?")
        await agent.record("And now?", "Followed.")
        await stage.sees("Followed.")


async def test_the_window_moves_its_divider_and_not_the_reader() -> None:
    async with reading(lambda db: long_talk(db, 60, cap=0)) as (stage, agent):
        await stage.transcript.action_scroll(-60)
        place = [line[1:] for line in stage.lines()]
        await agent.configure(cap=200)
        await agent.record("One more?", "Yes.")
        await until(lambda: any(not isinstance(row, Row) for row in stage.transcript.page.shown))
        await stage.pilot.pause(0.1)
        assert [line[1:] for line in stage.lines()] == place


async def test_dimming_changes_no_height() -> None:
    async with reading(lambda db: long_talk(db, 10)) as (stage, agent):
        transcript = stage.transcript
        heights = [len(transcript.strips(place)) for place in range(len(transcript.page.shown))]
        await agent.configure(cap=60)
        await agent.record("Last?", "Last.")
        await until(lambda: any(not isinstance(row, Row) for row in transcript.page.shown))
        rows = [place for place, row in enumerate(transcript.page.shown) if isinstance(row, Row)]
        dim = [place for place in rows if transcript.page.is_dim(place)]
        assert dim
        after = {transcript.page.shown[place].key: len(transcript.strips(place)) for place in rows}
        assert list(after.values())[: len(heights)] == heights


@pytest.mark.night
async def test_a_long_conversation_is_shown_before_it_is_read_and_nothing_jumps() -> None:
    async with reading(lambda db: long_talk(db, 3_500)) as (stage, _):
        end = stage.lines()
        await until(lambda: len(stage.transcript.page.shown) == 7_000)
        assert stage.lines() == end
        await stage.pilot.press("ctrl+home")
        await stage.sees("Question 0?")


async def test_a_shorter_conversation_that_is_shown_before_the_layout_can_be_drawn() -> None:
    """Textual may draw a widget that is visible again before it tells it its size."""
    async with reading(lambda db: long_talk(db, 12)) as (stage, _):
        transcript, visible = stage.transcript, stage.transcript.size
        transcript.display = False
        await until(lambda: not transcript.size.height)
        await transcript.show(Timeline(), EventCache(_no_events))
        assert not any(line.text.strip() for line in transcript.render_lines(visible.region))


async def _no_events(agent: AgentId, first: int, last: int) -> list[Recorded]:
    return []
