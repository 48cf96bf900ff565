"""The contract of search by meaning: a store finds what shares no word with a question."""

import sqlite3
from contextlib import closing

import asyncpg
import pytest

from sapwood.config.database_address import split_pooler
from sapwood.core.ids import AgentId, Space
from sapwood.lifecycle.erasable_log import erasable
from sapwood.lifecycle.erasure import Eraser
from sapwood.store.postgres import meaning_table as postgres_table
from sapwood.store.sqlite import meaning_table as sqlite_table
from sapwood.turns.log import Log
from tests.store.backends import MemoryBackend
from tests.store.contract import Backend, grow, start

pytestmark = pytest.mark.usefixtures("search_by_meaning")

ADA, BOB = AgentId("ada"), AgentId("bob")
OTHERS = (
    "The garden needs more water in summer.",
    "We chose a blue colour for the new logo.",
    "The train to the coast leaves at noon.",
)
PAYMENT = "Customers were charged twice because the payment was repeated."
QUESTION = "why did people get billed double"
"""It has no word of the answer."""


async def signed(backend: Backend, space: Space) -> int:
    """How many rows of signatures the database has for a space."""
    if backend.name.startswith("sqlite"):
        with closing(sqlite3.connect(backend.address)) as on:
            query = "SELECT count(*) FROM meanings WHERE space = ?"
            return on.execute(query, (space,)).fetchone()[0]
    session = await asyncpg.connect(split_pooler(backend.address).sessions)
    query = "SELECT count(*) FROM sapwood.meanings WHERE space = $1"
    count = await session.fetchval(query, space)
    await session.close()
    return count


async def test_a_question_finds_an_answer_without_common_words(
    log: Log, backend: Backend, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(backend, MemoryBackend):
        pytest.skip("the log in memory searches by words alone")
    for table in (sqlite_table, postgres_table):
        monkeypatch.setattr(table, "_PAGE", 2)
        monkeypatch.setattr(table, "SIGN_SECONDS", 60.0)  # a busy machine signs all of them too
    await start(log, space, ADA, *OTHERS)
    await start(log, space, BOB, PAYMENT)
    if backend.name.endswith("encrypted"):
        assert await log.search(space, QUESTION) == []
        assert await signed(backend, space) == 0
        return
    [hit, *_] = await log.search(space, QUESTION)
    assert (hit.ref.agent, hit.snippet, hit.marks) == (BOB, PAYMENT, ())
    await grow(log, space, BOB, "They were asked to pay two times, and got the money back.")
    found = await log.search(space, QUESTION)
    assert [hit.ref.version for hit in found if hit.ref.agent == BOB] == [1, 2]
    assert BOB not in {hit.ref.agent for hit in await log.search(space, QUESTION, agents=[ADA])}
    assert await log.search(space, f"{QUESTION} before:1971-01-01") == []
    assert await log.search(space, f'"{QUESTION}"') == [], "a phrase is searched word for word"
    if backend.name == "sqlite":  # on a server, transactions of other tests delay signatures
        assert await signed(backend, space) == 3, "new events, then older ones, then the newest"
    await grow(log, space, ADA, "Pxz jwkq vbr.")
    assert await log.search(space, "xzw jkqp vbrx") == [], "nonsense is like nothing"
    await Eraser(erasable(log), space).erase([BOB], by="human")
    assert await signed(backend, space) == 0
    assert BOB not in {hit.ref.agent for hit in await log.search(space, QUESTION)}
