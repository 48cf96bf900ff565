"""What cannot be done over a server says so in a sentence."""

import pytest

import sapwood


async def test_what_belongs_to_the_machine_of_the_server_is_refused(db: sapwood.Sapwood) -> None:
    agent = await db.start("demo")
    with pytest.raises(sapwood.SapwoodError, match="on the server"):
        await agent.checkpoint()
    with pytest.raises(sapwood.SapwoodError, match="Open the database by its address"):
        await agent.erase()
    with pytest.raises(sapwood.SapwoodError, match="Open the database by its address"):
        await db.erasures()
    assert [summary.agent for summary in await db.agents()] == [agent.id]
