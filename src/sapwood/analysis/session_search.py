"""Searches a session and archives for words, without an index."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.session import Session, TopicArchive
from sapwood.core.content import Text
from sapwood.core.events import SYSTEM, Recorded, TurnStarted
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.search_query import read_query
from sapwood.core.search_ranking import CandidateEvent, search_events
from sapwood.core.turn import Reply, Turn
from sapwood.core.turn_numbers import turn_words

_EXCERPT_MARGIN = 100


class SearchPassage(Struct, frozen=True):
    """A search result: where the words occur (a turn, an archive or an event), and an excerpt."""

    where: str
    excerpt: str
    at: int = 0


def words_of(query: str) -> tuple[str, ...]:
    """Returns the words of a query in lower case.

    >>> words_of("Token  refresh")
    ('token', 'refresh')
    """
    return tuple(query.casefold().split())


def search_session(session: Session, query: str) -> Iterator[SearchPassage]:
    """Yields the turns that answer a query, best first."""
    in_view, numbers = set(session.indexes_in_view), session.numbers
    texts = ["\n".join(_texts(turn)) for turn in session.turns]
    for index, sentence in _ranked(texts, query):
        suffix = "" if index in in_view else ", out of view"
        at = session.times[index] if index < len(session.times) else 0
        yield SearchPassage(f"{turn_words(numbers[index])}{suffix}", sentence, at)


def turns_about(session: Session, topic: str) -> tuple[int, ...]:
    """Returns the numbers of the turns on a topic, in order.

    These are the turns in which one text contains all its words. If there are none, those whose
    prompt and replies together contain most of its words, in any form.
    """
    words, stems = words_of(topic), set(content_words(topic))
    numbered = list(zip(session.numbers, session.turns, strict=True))
    exact = {number for number, turn in numbered if _excerpt(_texts(turn), words)}
    if exact or not stems:
        return tuple(sorted(exact))
    close = {
        number
        for number, turn in numbered
        if len(stems & _stems_of(turn)) * 2 > len(stems) or stems <= _stems_of(turn)
    }
    return tuple(sorted(close))


def _stems_of(turn: Turn) -> set[str]:
    """The words of the prompt and the replies; results may mention anything."""
    texts = [part.text for part in turn.prompt]
    for item in turn.items:
        if isinstance(item, Reply):
            texts += (part.text for part in item.parts if isinstance(part, Text))
    return {word for text in texts for word in content_words(text)}


def search_archives(
    archives: Iterable[tuple[Path, TopicArchive]], query: str
) -> Iterator[SearchPassage]:
    """Yields the archives that answer a query, best first."""
    known = list(archives)
    texts = [
        "\n".join((each.topic, *each.decisions, *each.files, *each.questions, each.excerpt))
        for _, each in known
    ]
    for index, sentence in _ranked(texts, query):
        yield SearchPassage(str(known[index][0]), sentence)


def _ranked(texts: Sequence[str], query: str) -> Iterator[tuple[int, str]]:
    """The places of the texts that answer a query, best first, and their best sentences."""
    events = [
        Recorded(AgentId(""), at, TurnStarted(None, (Text(text),)), at, SYSTEM, CommandId(""))
        for at, text in enumerate(texts)
    ]
    candidates = [CandidateEvent(each, each.version) for each in events]
    for hit in search_events(read_query(query), candidates):
        yield hit.turn, hit.snippet


def _texts(turn: Turn) -> Iterator[str]:
    yield from (part.text for part in turn.prompt)
    for item in turn.items:
        if isinstance(item, Reply):
            yield from (
                getattr(part, "text", "") or getattr(part, "args", "") for part in item.parts
            )
        else:
            yield item.content


def _excerpt(texts: Iterable[str], words: tuple[str, ...]) -> str:
    """Returns an excerpt of the first text that contains all the words, or an empty text."""
    for text in texts:
        folded = text.casefold()
        if words and all(word in folded for word in words):
            return _around(text, words)
    return ""


def _around(text: str, words: tuple[str, ...]) -> str:
    found = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE)
    start = max(0, found.start() - _EXCERPT_MARGIN) if found else 0
    end = (found.end() if found else 0) + _EXCERPT_MARGIN
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
