"""The database goes away while the screen is open: it says so, waits, and goes on."""

from collections.abc import Generator

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.tui.launcher import warnings_shown
from tests.tui.stage import on_stage
from tools.postgres import Cluster, cluster

_PATIENCE = 1.5
"""Shorter than the outage, so that whatever asks the database meanwhile fails."""


@pytest.fixture(scope="module")
def server() -> Generator[Cluster]:
    """A server that nobody else uses."""
    with cluster() as ours:
        yield ours


@pytest.mark.night
async def test_the_screen_outlives_an_outage_and_goes_on_after_it(server: Cluster) -> None:
    connection = await connect(server.dsn, patience=_PATIENCE)
    agent = await Sapwood(connection).start("here")
    await agent.record("Hello?", "Hello.")
    try:
        async with on_stage(agent.id, connection=connection) as stage:
            with warnings_shown(stage.app.notice):
                server.stop(at_once=True)
                await stage.sees("The database is not responding:")
                await stage.type("/mark MEANWHILE")
                await stage.sees("Nothing was changed.")
                assert stage.conversation.composer.text == "/mark MEANWHILE"
                await stage.transcript.action_scroll(-1)
                server.start()
                await stage.sees("The database is back.")
                await stage.pilot.press("enter")
                await stage.sees("◆ MEANWHILE ─")
                await agent.mark("FROM_OUTSIDE")
                await stage.sees("◆ FROM_OUTSIDE ─")
    finally:
        await connection.close()
