"""Two erasures of one space at the same time, with a connection of its own for one of them."""

import asyncpg

from sapwood.core.erasure import Erasure
from sapwood.core.ids import AgentId, Space
from sapwood.lifecycle.erasable_log import erasable
from sapwood.turns.log import Log
from tests.store.contract import start

ADA, BOB = AgentId("ada"), AgentId("bob")
LONG = "a long text that both have " * 200


async def test_a_long_text_goes_with_the_last_of_two_that_are_erased_at_once(
    log: Log, space: Space, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    erasing = erasable(log)
    for agent in (ADA, BOB):
        await start(erasing, space, agent, LONG)
        record = Erasure(f"{agent}-{space}", 1, "human", "conversation")
        await erasing.begin_erasure(space, record, [agent])
    await erasing.erase_agent(space, f"ada-{space}", ADA)
    async with owner.transaction():
        erased = (f"bob-{space}", space, BOB, "{}")
        await owner.execute("SELECT sapwood.erase_agent($1, $2, $3, $4)", *erased)
        await erasing.erase_words(space, f"ada-{space}")
    await erasing.erase_words(space, f"bob-{space}")
    count = "SELECT count(*) FROM sapwood.contents WHERE space = $1"
    assert await owner.fetchval(count, space) == 0
