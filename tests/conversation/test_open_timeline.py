"""A long conversation on the page: its end is shown first, its beginning is read after."""

import pytest

import sapwood
from sapwood.conversation import open_timeline
from sapwood.conversation.open_timeline import OpenTimeline, RowsPage


async def test_the_beginning_is_read_after_the_first_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_timeline, "LONG_CONVERSATION", 5)
    looks: list[RowsPage] = []
    read_whole = open_timeline.read_timeline

    async def read_after_a_look(*arguments: object) -> object:
        assert looks, "the first page waits while the whole conversation is read"
        return await read_whole(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(open_timeline, "read_timeline", read_after_a_look)
    async with sapwood.open(":memory:") as db:
        agent = await db.start("long", cap=0)
        for number in range(10):
            await agent.record(f"Question {number}?", "Yes.")
        timeline = OpenTimeline(db.connection, agent.id)
        looks.append(await timeline.page())
        await timeline.wait_until_complete()
        looks.append(await timeline.page())

    assert [each.complete for each in looks] == [False, True]
