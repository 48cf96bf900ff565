"""Marks stand where they mean, and a mark that is no more is not drawn as one that is."""

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.conversation.cut_preview import preview_rewind, rewind_places
from sapwood.core.commands import SetMark, StartTurn
from sapwood.core.content import Text
from sapwood.core.timeline.rows import Row
from tests.tui.stage import Stage, on_stage, until


def mark_is_dim(stage: Stage) -> list[bool]:
    """For each mark that is shown, whether it is dim."""
    page = stage.transcript.page
    return [
        page.is_dim(place)
        for place, row in enumerate(page.shown)
        if isinstance(row, Row) and row.kind == "mark"
    ]


async def test_a_dropped_mark_is_dim_and_an_undo_brings_it_back() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("here")
    await agent.record("One?", "One.")
    await agent.mark("START")
    await agent.record("Two?", "Two.")
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.sees("◆ START")
        assert mark_is_dim(stage) == [False]
        await stage.type("/mark START")
        await until(lambda: mark_is_dim(stage) == [True, False], shown=stage.screen)
        await stage.type("/clear")
        await until(lambda: all(mark_is_dim(stage)), shown=stage.screen)
        await stage.type("/undo")
        await until(lambda: mark_is_dim(stage) == [True, False], shown=stage.screen)
    await connection.close()


async def test_an_undo_that_takes_later_turns_along_is_done_by_a_second_enter() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("here")
    await agent.record("One?", "One.")
    await agent.mark("START")
    await agent.record("Two?", "Two.")
    await agent.run_command("/rewind START")
    for prompt in ("Three?", "Four?"):
        await agent.record(prompt, "Yes.")
    async with on_stage(agent.id, connection=connection, size=(80, 24)) as stage:
        await stage.type("/undo")
        await stage.sees("Undoing /rewind also removes 2 later turns (3 to 4)")
        assert stage.conversation.composer.text == "/undo --anyway"
        await stage.pilot.press("enter")
        await stage.sees("Undone: /rewind and 2 later turns")
    await connection.close()


async def test_a_mark_that_is_set_during_a_turn_says_what_it_stands_before() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("here")
    await agent.do(StartTurn(agent.id, (Text("Working?"),)))
    await agent.do(SetMark(agent.id, "MIDST"))
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.sees("◆ MIDST before #1")
    await connection.close()


async def test_the_preview_of_an_undo_keeps_turns_made_since_a_clear() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("here")
    await agent.record("One?", "One.")
    await agent.clear()
    await agent.record("Two?", "Two.")
    undo, *_ = await rewind_places(connection, agent.id)
    shown = await preview_rewind(connection, agent.id, undo)
    assert (len(shown.leaving), len(shown.returning), shown.shared) == (0, 1, 1)
    before = await agent.request()
    await agent.undo()
    after = await agent.request()
    assert len(after.messages) == len(before.messages) + 2  # as the preview says
    await connection.close()


async def test_the_place_of_an_unnamed_mark_can_be_picked() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("here")
    await agent.record("One?", "One.")
    await agent.mark()
    await agent.record("Two?", "Two.")
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.pilot.press("f3")
        await stage.sees("before #2 Two?")
        await stage.sees("leaves view: 1 turn")
        await stage.pilot.press("enter")
        await stage.sees("Rewound")
    assert len((await agent.request()).messages) == 2
    await connection.close()
