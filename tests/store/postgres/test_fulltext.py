"""A text of any length becomes terms that PostgreSQL can index."""

from itertools import pairwise

import pytest

from sapwood.core.events import AgentArchived, Event, ToolFinished
from sapwood.core.ids import AgentId, Space
from sapwood.runtime.log import Log
from sapwood.store.postgres.fulltext import parts_of
from tests.store.contract import append, commit_of


def of(text: str) -> Event:
    return ToolFinished("1", text)


def test_an_event_without_words_has_no_terms() -> None:
    assert parts_of(AgentArchived()) == []
    assert parts_of(of("… — !")) == []


def test_an_ordinary_text_is_one_part() -> None:
    assert parts_of(of("Hello, World")) == ["hello world"]
    assert len(parts_of(of("word " * 12_000))) == 1


def test_a_long_text_becomes_parts_that_overlap() -> None:
    words = [f"w{n}" for n in range(30_000)]
    parts = [part.split() for part in parts_of(of(" ".join(words)))]
    assert len(parts) == 3
    for part, following in pairwise(parts):
        assert part[-32:] == following[:32]
    assert [*parts[0][:-32], *parts[1][:-32], *parts[2]] == words


def test_an_absurd_text_is_indexed_up_to_a_point() -> None:
    parts = parts_of(of(" ".join(f"{n:x}" * 20 for n in range(200_000))))
    assert len(parts) == 16
    assert all(len(part) < 1_000_000 for part in parts)


@pytest.mark.parametrize("place", [0, 11_990, 12_000, 25_000])
async def test_a_phrase_is_found_wherever_it_stands(log: Log, space: Space, place: int) -> None:
    words = [f"w{n % 1000}" for n in range(30_000)]
    words[place : place + 3] = ["needle", "in", "hay"]
    await log.commit(space, commit_of(append(AgentId("ada"), of(" ".join(words)))))
    (hit,) = await log.search(space, '"needle in hay"')
    assert "needle in hay" in hit.snippet
    assert await log.search(space, '"hay needle"') == []
