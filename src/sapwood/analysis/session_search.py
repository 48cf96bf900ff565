"""Searches a session and archives for words, without an index."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from sapwood.analysis.session import Session, TopicArchive
from sapwood.core.turn import Reply, Turn

__all__ = ["SearchPassage", "search_archives", "search_session", "turns_with_words", "words_of"]

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


def search_session(session: Session, words: tuple[str, ...]) -> Iterator[SearchPassage]:
    """Yields the turns in which one text contains all the words, the newest first."""
    in_view, numbers = set(session.indexes_in_view), session.numbers
    for index in reversed(range(len(session.turns))):
        found = _excerpt(_texts(session.turns[index]), words)
        if found:
            suffix = "" if index in in_view else ", out of view"
            at = session.times[index] if index < len(session.times) else 0
            yield SearchPassage(f"turn {numbers[index]}{suffix}", found, at)


def turns_with_words(session: Session, words: tuple[str, ...]) -> tuple[int, ...]:
    """Returns the numbers of the turns in which one text contains all the words, in order."""
    numbered = zip(session.numbers, session.turns, strict=True)
    return tuple(sorted(number for number, turn in numbered if _excerpt(_texts(turn), words)))


def search_archives(
    archives: Iterable[tuple[Path, TopicArchive]], words: tuple[str, ...]
) -> Iterator[SearchPassage]:
    """Yields the archives in which one text contains all the words, in the given order."""
    for path, archive in archives:
        texts = (archive.topic, *archive.decisions, *archive.files, *archive.questions)
        if found := _excerpt((*texts, archive.excerpt), words):
            yield SearchPassage(str(path), found)


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
