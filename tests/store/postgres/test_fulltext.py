"""A text of any length becomes terms that PostgreSQL can index."""

import asyncio

import asyncpg
import pytest

from sapwood.core.events import AgentArchived, Event, ToolFinished
from sapwood.core.ids import AgentId, Space
from sapwood.core.search_query import read_query
from sapwood.store.postgres import PostgresLog, fulltext, postgres_log
from sapwood.store.postgres.fulltext import search_words, term_parts
from sapwood.turns.log import Log
from tests.store.contract import append, commit_of


def of(text: str) -> Event:
    return ToolFinished("1", text)


def test_an_event_without_words_has_no_terms() -> None:
    assert term_parts(AgentArchived()) == []
    assert term_parts(of("… — !")) == []


def test_an_ordinary_text_is_one_part() -> None:
    assert term_parts(of("Hello, World")) == [["hell", "world"]]
    assert len(term_parts(of("word " * 50_000))) == 1


def test_a_long_text_becomes_parts() -> None:
    words = [f"w{n}" for n in range(30_000)]
    parts = term_parts(of(" ".join(words)))
    assert len(parts) == 3
    assert [*parts[0], *parts[1], *parts[2]] == words


@pytest.mark.night
def test_an_absurd_text_is_indexed_up_to_a_point() -> None:
    parts = term_parts(of(" ".join(f"{n:x}" * 20 for n in range(200_000))))
    assert len(parts) == 16
    assert all(sum(map(len, part)) < 1_000_000 for part in parts)


@pytest.mark.parametrize("place", [0, 11_990, 12_000, 25_000])
async def test_a_phrase_is_found_wherever_it_stands(log: Log, space: Space, place: int) -> None:
    words = [f"w{n % 1000}" for n in range(30_000)]
    words[place : place + 3] = ["needle", "in", "hay"]
    await log.commit(space, commit_of(append(AgentId("ada"), of(" ".join(words)))))
    (hit,) = await log.search(space, '"needle in hay"')
    assert "needle in hay" in hit.snippet
    assert await log.search(space, '"hay needle"') == []


@pytest.mark.usefixtures("search_by_meaning")
async def test_an_event_that_settles_after_the_signatures_were_made_is_found_by_meaning(
    log: Log, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older transaction that ends between the two steps of a search settles its events."""

    async def sign_nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(postgres_log, "sign_events", sign_nothing)
    answer = "Customers were charged twice because the payment was repeated."
    await log.commit(space, commit_of(append(AgentId("ada"), of(answer))))
    (hit,) = await log.search(space, "why did people get billed double")
    assert hit.snippet == answer


async def until_found(log: Log, space: Space, words: str, count: int) -> None:
    """Waits until a search finds so many events."""
    async with asyncio.timeout(60):
        while len(await log.search(space, words, limit=count + 1)) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_search_does_not_wait_for_a_large_backlog(
    log: Log, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "_PAGE", 2)
    monkeypatch.setattr(fulltext, "_IDLE_SECONDS", 3_600.0)  # nothing is indexed meanwhile
    for number in range(8):
        event = of(f"needle{number} in the hay")
        await log.commit(space, commit_of(append(AgentId(f"agent-{number}"), event)))
    indexer = getattr(log, "_indexer")  # noqa: B009  # the parts of a store are its own
    await indexer.catch_up(space, patience=-1.0)
    found = await search_words(indexer._readers.fetch, space, read_query("hay"), None, 20, 0, 8)
    assert {hit.ref.agent for hit in found} == {"agent-6", "agent-7"}
    await until_found(log, space, "hay", 8)


async def test_what_another_program_wrote_is_indexed_without_a_search(
    log: Log, space: Space, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "_FIRST_LOOK_SECONDS", 0.0)
    await log.commit(space, commit_of(append(AgentId("ada"), of("a needle in the hay"))))
    await getattr(log, "_indexer").close()  # noqa: B009  # as if the program had ended
    second = await PostgresLog.open(postgres_database)
    try:
        indexer = second._indexer  # pyright: ignore[reportPrivateUsage]
        fetch = indexer._readers.fetch  # pyright: ignore[reportPrivateUsage]
        async with asyncio.timeout(60):
            while not await search_words(fetch, space, read_query("needle"), None, 5, 0, 1):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    finally:
        await second.close()


async def test_a_rare_word_counts_more_while_a_transaction_of_others_is_open(
    log: Log, space: Space, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    texts = [f"the report of the customer number {n}" for n in range(30)]
    async with owner.transaction():
        await owner.execute("SELECT pg_current_xact_id()")
        events = [of(text) for text in (*texts, "heron", "a report of the customer on the heron")]
        await log.commit(space, commit_of(append(AgentId("ada"), *events)))
        hits = await log.search(space, "which customer report mentions a heron")
    assert [hit.ref.version for hit in hits][:2] == [32, 31]


async def test_one_space_is_in_several_partitions(
    log: Log, space: Space, postgres_database: str
) -> None:
    for number in range(30):
        await log.commit(space, commit_of(append(AgentId(f"agent-{number}"), of("hay"))))
    await until_found(log, space, "hay", 30)
    session = await asyncpg.connect(postgres_database)
    try:
        count = await session.fetchval(
            "SELECT count(DISTINCT tableoid) FROM sapwood.search WHERE space = $1", space
        )
    finally:
        await session.close()
    assert count > 5


async def test_the_index_is_not_in_the_wal_and_is_made_again_when_a_crash_has_emptied_it(
    log: Log, space: Space, postgres_database: str
) -> None:
    await log.commit(space, commit_of(append(AgentId("ada"), of("a needle in the hay"))))
    await until_found(log, space, "needle", 1)
    session = await asyncpg.connect(postgres_database)
    try:
        kinds = await session.fetch(
            "SELECT relpersistence FROM pg_partition_tree('sapwood.search') AS part"
            " JOIN pg_class ON pg_class.oid = part.relid WHERE part.isleaf UNION ALL"
            " SELECT relpersistence FROM pg_class WHERE oid = 'sapwood.searchable'::regclass"
        )
        for table in ("search", "searchable"):
            await session.execute(f"DELETE FROM sapwood.{table} WHERE space = $1", space)
    finally:
        await session.close()
    assert {row["relpersistence"] for row in kinds} == {b"u"}
    await until_found(log, space, "needle", 1)


async def test_very_common_words_are_counted_and_not_listed(
    log: Log, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rare word decides; common ones alone, or beside a word that is nowhere, are found too."""
    texts = [f"the heron stands in water {n}" for n in range(40)]
    texts[7] += " beside a kingfisher"
    await log.commit(space, commit_of(append(AgentId("ada"), *map(of, texts))))
    listed = await log.search(space, "heron water kingfisher", limit=50)
    monkeypatch.setattr(fulltext, "_COMMON", 5)
    assert await log.search(space, "heron water kingfisher", limit=50) == listed
    monkeypatch.setattr(fulltext, "_FEW", 1)
    assert [hit.ref for hit in await log.search(space, "heron kingfisher")] == [listed[0].ref]
    assert len(await log.search(space, "heron water", limit=50)) == 40
    assert len(await log.search(space, "heron qzx", limit=50)) == 40
