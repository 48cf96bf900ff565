"""The contract of a log: search finds every recorded text, with equal results on each store."""

import pytest

from sapwood.core.content import Text, ToolCall
from sapwood.core.events import NoteDeclared, ReplyAdded, ToolFinished, TurnStarted
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.turns.log import Log
from tests.store.contract import Backend, OpenLog, append, commit_of, grow, prompt_event, start

ADA, BOB = AgentId("ada"), AgentId("bob")


async def found(log: Log, space: Space, query: str) -> list[int]:
    """The versions of Ada's events that a query finds, in order."""
    hits = await log.search(space, query, agents=[ADA])
    return sorted(hit.ref.version for hit in hits)


TEXTS = (
    "We retry the token refresh three times.",
    "The refresh token is not the token refresh.",
    "It retries after a timeout; retrying forever is no plan",
    "用户数据库需要迁移",
    "数字 and 据点 apart, and 库 alone",
    "call parse_config(path) in HTTPServer.py, see ERR_42",
    "to be or not to be",
    "Füße, ÉCOLE, naïve: İstanbul",
    "ภาษาไทย and ひらがな",
    "nul\0inside 🌲 tree",
)

HASHED: dict[str, list[int]] = {"据数": [], "time": [1], "tokne": []}
"""What an encrypted space does not find: its index has hashes, in which no letters are alike."""


QUERIES: list[tuple[str, list[int]]] = [
    ("timeout", [3]),
    ("TIMEOUT", [3]),
    ("token", [1, 2]),
    ("token timeout", [1, 2, 3]),
    ("times retry", [1, 3]),
    ('"token refresh"', [1, 2]),
    ('"refresh token"', [2]),
    ('"refresh three"', [1]),
    ('"three refresh"', []),
    ("retry", [1, 3]),
    ("retries", [1, 3]),
    ("retrying", [1, 3]),
    ("数", [4, 5]),
    ("数据", [4]),
    ("据库", [4]),
    ("库", [4, 5]),
    ("用户 迁移", [4]),
    ("据数", [4, 5]),
    ("parse_config", [6]),
    ("config", [6]),
    ("parse_config(path)", [6]),
    ("httpserver.py", [6]),
    ("err_42", [6]),
    ("42", [6]),
    ("not", [2, 7]),
    ('"to be or not to be"', [7]),
    ("füße", [8]),
    ("FÜSSE", [8]),
    ("école", [8]),
    ("ecole", [8]),
    ("ไทย", [9]),
    ("らが", [9]),
    ("inside", [10]),
    ("tree", [10]),
    ("", []),
    ("   ", []),
    ("…!?", []),
    ('"', []),
    ("timeout*", [3]),
    ("timeout AND", [3]),
    ("NEAR(timeout)", [3]),
    ("timeout OR zebra", [3]),
    ("-timeout", [3]),
    ("terms:timeout", [3]),
    ("it's", []),
    ("' OR 1=1 --", []),
    ("time", [1, 3]),
    ("tokne", [1, 2]),
    ("HTTPServer", [6]),
    ("server", [6]),
    ('"HTTPServer.py" timeout', [6]),
    ("what about the timeout?", [3]),
    ("timeout before:2025-06-16", [3]),
    ("timeout after:2025-06-16", []),
]


async def test_words_and_phrases_are_found(log: Log, backend: Backend, space: Space) -> None:
    await start(log, space, ADA, *TEXTS)
    hashed = HASHED if backend.name.endswith("-encrypted") else {}
    expected = {query: hashed.get(query, versions) for query, versions in QUERIES}
    assert {query: await found(log, space, query) for query in expected} == expected


async def test_a_hit_is_a_turn_with_its_best_sentence(log: Log, space: Space) -> None:
    events = (
        TurnStarted(None, (Text("hello " * 100), Text("Where does the needle lie?"))),
        ReplyAdded((Text("I look."), ToolCall("1", "grep", '{"for": "needle"}'))),
        ToolFinished("1", "hay.\n" * 3000 + "The blue needle lies here.\n" + "hay.\n" * 3000),
        TurnStarted(None, (Text("Is the hay blue?"),)),
    )
    commit = commit_of(append(ADA, *events))
    await log.commit(space, commit)
    first, second = await log.search(space, "blue needles")
    assert (first.ref, first.kind, first.turn) == (EventRef(ADA, 3), "tool.finished", 1)
    assert first.snippet.startswith("The blue needle lies here. hay.")
    assert [first.snippet[start:end] for start, end in first.marks] == ["blue", "needle"]
    assert first.at == commit.appends[0].events[2].at
    assert (second.ref, second.turn, second.snippet) == (EventRef(ADA, 4), 4, "Is the hay blue?")
    assert first.score > second.score > 0


async def test_what_is_outside_of_turns_is_found_by_itself(log: Log, space: Space) -> None:
    note = NoteDeclared("decision", "We keep the heron.")
    await log.commit(space, commit_of(append(ADA, prompt_event("A bird?"), note)))
    (hit,) = await log.search(space, "heron")
    assert (hit.ref.version, hit.turn, hit.kind) == (2, 2, "note.declared")


ORDER = {
    "token": [2, 1],
    "token refresh": [2, 1],
    "refresh token": [2, 1],
    "retry the token": [1, 2, 3],
    "token retry timeout": [3, 1, 2],
    "who plans to retry forever": [3, 1],
    "数据库": [4],
    "to be": [7],
}
"""The order of `TEXTS` for some queries: best first, the same on every store."""


@pytest.mark.parametrize(("query", "versions"), ORDER.items())
async def test_every_store_has_the_same_order(
    log: Log, space: Space, query: str, versions: list[int]
) -> None:
    await start(log, space, ADA, *TEXTS)
    hits = await log.search(space, query)
    assert [hit.ref.version for hit in hits] == versions


async def test_a_rare_word_counts_more_than_common_ones(log: Log, space: Space) -> None:
    texts = [f"the report of the customer number {n}" for n in range(30)]
    await start(log, space, ADA, *texts, "heron", "a report of the customer on the heron")
    hits = await log.search(space, "which customer report mentions a heron")
    assert [hit.ref.version for hit in hits][:2] == [32, 31]


async def test_the_better_hit_comes_first(log: Log, space: Space) -> None:
    await start(log, space, ADA, "cedar " + "filler " * 400, "cedar cedar cedar", "oak")
    hits = await log.search(space, "cedar")
    assert [hit.ref.version for hit in hits] == [2, 1]


async def test_everything_committed_before_is_seen(
    log: Log, space: Space, open_log: OpenLog
) -> None:
    other = await open_log()
    await start(log, space, ADA)
    for n in range(20):
        await grow((log, other)[n % 2], space, ADA, f"needle number{n}")
        assert await found(other, space, f"number{n}") == [n + 2]
        assert len(await log.search(space, "needle")) == min(n + 1, 20)


async def test_a_search_can_be_held_to_some_agents(log: Log, space: Space) -> None:
    for agent in ("ada", "bob", "eve"):
        await start(log, space, AgentId(agent), "a needle")
    eve = AgentId("eve")
    for agents, expected in (
        (None, {ADA, BOB, eve}),
        ([ADA], {ADA}),
        ([BOB, eve], {BOB, eve}),
        ([AgentId("nobody")], set[AgentId]()),
        ([], set[AgentId]()),
    ):
        hits = await log.search(space, "needle", agents=agents)
        assert {hit.ref.agent for hit in hits} == expected


async def test_pages_of_hits_show_each_once(log: Log, space: Space) -> None:
    for n in range(25):
        await start(log, space, AgentId(f"agent-{n}"), "a needle", f"needle {'in hay ' * n}")
    whole = await log.search(space, "needle", limit=100)
    assert len(whole) == 50
    pages = [await log.search(space, "needle", limit=7, offset=n) for n in range(0, 56, 7)]
    assert [hit for page in pages for hit in page] == whole
    assert len(await log.search(space, "needle")) == 20


async def test_the_log_grows_and_the_search_with_it(log: Log, space: Space) -> None:
    await start(log, space, ADA, *(f"needle w{n}" for n in range(2000)))
    assert await found(log, space, "w1999") == [2000]
    await grow(log, space, ADA, *(f"needle w{n}" for n in range(2000, 2500)))
    assert await found(log, space, "w2499") == [2500]
    assert len(await log.search(space, "needle", limit=5000)) == 2500


@pytest.mark.night
async def test_a_huge_text_does_not_stop_the_search(log: Log, space: Space) -> None:
    """A database may index only a part of it, but the next events must be found."""
    huge = " ".join(f"word{n}x{n * 7919 % 1_000_003}" for n in range(250_000))
    await start(log, space, ADA, "before", f"opening {huge}", "x" * 3_000_000, "after")
    assert await found(log, space, "after") == [4]
    assert await found(log, space, "before") == [1]
    assert await found(log, space, "opening") == [2]


async def test_a_whole_page_can_be_searched_for(log: Log, space: Space) -> None:
    page = " ".join(f"word{n}" for n in range(1000))
    await start(log, space, ADA, f"before {page} after", page.replace("word999", "other"))
    assert await found(log, space, page) == [1, 2]
    assert await found(log, space, f'"{page}"') == [1]


async def test_text_stays_text(log: Log, space: Space) -> None:
    """The operators of the database's own query language have no meaning here."""
    await start(log, space, ADA, "a & b | !c <-> d:* ^e + f - g (h) \"i\" 'j' \\k")
    for letter in "abcdefghijk":
        assert await found(log, space, letter) == [1]
    assert await found(log, space, "a & b | !c <-> d:* ^e") == [1]
    await log.commit(space, commit_of(append(BOB, prompt_event("u6570 is no character"))))
    assert [hit.ref.agent for hit in await log.search(space, "u6570")] == [BOB]
