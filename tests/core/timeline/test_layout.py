"""Folds, banners and the divider say what left view, why, and how it comes back."""

import pytest

from sapwood.api import Agent, Sapwood, open
from sapwood.conversation.timeline_reader import event_cache, read_timeline
from sapwood.core.timeline.layout import lay_out, lay_out_everything, lay_out_in_view
from sapwood.core.timeline.rows import Banner, Divider, Fold, Row, UndoAction
from sapwood.core.timeline.timeline import Timeline


async def timeline_of(agent: Agent, db: Sapwood) -> Timeline:
    held = db.connection
    cache = event_cache(held.log, held.space)
    return await read_timeline(held.log, held.space, agent.id, cache)


async def folds_of(agent: Agent, db: Sapwood) -> list[Fold]:
    rows = lay_out(await timeline_of(agent, db))
    return [row for row in rows if isinstance(row, Fold)]


async def talk(db: Sapwood, turns: int, *, cap: int = 0) -> Agent:
    agent = await db.start("demo", cap=cap)
    for number in range(turns):
        await agent.record(f"Question {number}?", f"Answer {number}.")
    return agent


async def test_a_fold_counts_turns_and_messages_and_names_its_cause() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 5)
        await agent.clear(2)
        (fold,) = await folds_of(agent, db)
        assert (fold.turns, fold.messages, fold.cause) == (3, 6, "/clear 2")
        assert fold.back == UndoAction("undo")


async def test_the_way_back_of_an_older_fold_takes_more_steps() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 4)
        await agent.clear(2)
        await agent.clear(1)
        older, newer = await folds_of(agent, db)
        assert (older.back, newer.back) == (UndoAction("undo", 2), UndoAction("undo", 1))


@pytest.mark.parametrize("undone", [0, 1, 2])
async def test_the_way_back_of_every_fold_brings_its_turns_back(undone: int) -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 3)
        await agent.mark("START")
        await agent.record("Aside?", "Yes.")
        await agent.clear(3)
        await agent.rewind("START")
        await agent.record("On?", "On.")
        await agent.clear(1)
        for _ in range(undone):
            await agent.undo()
        for fold in await folds_of(agent, db):
            assert fold.back is not None
            for _ in range(fold.back.times):
                await (agent.undo() if fold.back.command == "undo" else agent.redo())
            in_view = lay_out_in_view(await timeline_of(agent, db))
            assert any(isinstance(row, Row) and row.version == fold.first for row in in_view)
            for _ in range(fold.back.times):
                await (agent.redo() if fold.back.command == "undo" else agent.undo())


async def test_a_drop_that_is_redone_folds_as_it_did() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 6)
        await agent.run_command("/drop 2-4")
        (first,) = await folds_of(agent, db)
        for _ in range(2):
            await agent.undo()
            assert await folds_of(agent, db) == []
            await agent.redo()
        (again,) = await folds_of(agent, db)
        assert (again.cause, again.tokens) == ("/drop 2-4", first.tokens) != ("", 0)
        assert (again.turns, again.back) == (first.turns, first.back)


async def test_a_window_that_moves_again_is_no_step_of_the_way_back_any_more() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 20, cap=100)
        await agent.run_command("/rewind 20")
        await agent.record("Aside?", "Yes.")
        for _ in range(2):  # the rewind, then the last move of the window
            await agent.undo()
        (aside,) = [fold for fold in await folds_of(agent, db) if fold.cause == "/undo"]
        assert aside.back == UndoAction("redo", 2)
        await agent.record("Question again?", "Answer again.")
        assert len((await agent.state()).redo) == 1
        (aside,) = [fold for fold in await folds_of(agent, db) if fold.cause == "/undo"]
        assert aside.back == UndoAction("redo", 1)


async def test_turns_that_came_back_together_are_one_step_of_the_way_back() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 5)
        await agent.clear(2)
        await agent.run_command("/bring 1-3")
        (fold,) = await folds_of(agent, db)
        assert fold.back == UndoAction("undo", 2)
        for _ in range(2):
            await agent.undo()
        assert await folds_of(agent, db) == []


async def test_an_undo_moves_the_window_back() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 40, cap=100)
        rows = lay_out_in_view(await timeline_of(agent, db))
        divider = rows[0]
        assert isinstance(divider, Divider)
        assert divider.back == UndoAction("undo")
        assert divider.messages == 2 * divider.turns
        assert all(isinstance(row, Row) for row in rows[1:])
        before = len((await agent.request()).messages)
        await agent.undo()
        assert len((await agent.request()).messages) > before
        after = lay_out_in_view(await timeline_of(agent, db))
        assert len([row for row in after if isinstance(row, Row)]) > len(rows[1:])


async def test_a_summary_is_in_view_until_a_clear() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 3)
        await agent.compact("What was said.")
        assert [b.in_view for b in await banners_of(agent, db)] == [True]
        await agent.record("On?", "On.")
        await agent.clear()
        assert [b.in_view for b in await banners_of(agent, db)] == [False]
        await agent.undo()
        assert [b.in_view for b in await banners_of(agent, db)] == [True]


async def test_a_banner_carries_the_last_request_while_the_context_does() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 2)
        await agent.compact("What was said.")
        (banner,) = await banners_of(agent, db)
        assert banner.request is not None
        assert banner.request.version == 3
        await agent.record("On?", "On.")
        await agent.record("And on?", "On.")
        await agent.compact("More was said.", keep=1)
        assert [b.request for b in await banners_of(agent, db)] == [None, None]


async def test_a_fork_begins_with_the_summary_that_it_inherits() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 2)
        await agent.compact("What was said.")
        child = await agent.fork()
        first = lay_out(await timeline_of(child, db))[0]
        (banner,) = await banners_of(agent, db)
        assert isinstance(first, Banner)
        assert (first.cause, first.summary, first.request) == (
            "fork",
            banner.summary,
            banner.request,
        )


async def test_turns_around_another_fold_have_one_banner() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 1)
        await agent.mark("START")
        await agent.record("Aside?", "Yes.")
        await agent.rewind("START")
        await agent.record("On?", "On.")
        await agent.compact("What was said.")
        rows = lay_out(await timeline_of(agent, db))
        assert [row.cause for row in rows if isinstance(row, Fold)] == [
            "/compact",
            "/rewind START",
            "/compact",
        ]
        (banner,) = await banners_of(agent, db)
        assert (banner.turns, banner.messages) == (2, 4)
        assert len({row.key for row in rows}) == len(rows)


async def test_everything_has_each_row_once_and_what_is_in_view_is_part_of_it() -> None:
    async with open(":memory:") as db:
        agent = await talk(db, 30, cap=120)
        await agent.mark("M")
        await agent.record("Aside?", "Yes.")
        await agent.rewind("M")
        await agent.clear(2)
        timeline = await timeline_of(agent, db)
        whole = [row for row in lay_out_everything(timeline) if isinstance(row, Row)]
        assert whole == timeline.rows
        kept = {row.key for row in lay_out_in_view(timeline)}
        assert kept <= {row.key for row in lay_out_everything(timeline)}


async def banners_of(agent: Agent, db: Sapwood) -> list[Banner]:
    rows = lay_out(await timeline_of(agent, db))
    return [row for row in rows if isinstance(row, Banner)]
