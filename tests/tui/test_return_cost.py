"""After a pause the screen and the page say what the next prompt costs."""

import time
from types import SimpleNamespace

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.conversation.cut_preview import cut_plan
from sapwood.conversation.surroundings import window_use
from sapwood_server.page.page_html import budget_html
from tests.tui.stage import on_stage


async def test_a_cold_conversation_says_what_coming_back_costs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("long", model="claude-opus-5-5")
    for _ in range(8):
        async with agent.turn("timber " * 9_000) as turn:
            await turn.call()
            await turn.reply("Yes.")
    fake = SimpleNamespace(time_ns=lambda: time.time_ns() + 9_000 * 10**9)
    monkeypatch.setattr("sapwood.turns.clock_and_ids.time", fake)
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.sees("tokens are cold: about $", 20)
    plan = await cut_plan(connection, agent.id)
    page = budget_html(await window_use(connection, agent.id), plan)
    assert "tokens are cold: about $" in page
    assert 'data-run="/clear ' in page
    await connection.close()
