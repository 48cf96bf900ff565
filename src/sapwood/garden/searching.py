"""Finds words in a session and in archives, where no index is at hand."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from sapwood.core.session import Session
from sapwood.core.turn import Reply, Turn
from sapwood.garden.archive import Archive

__all__ = ["Passage", "search_archives", "search_session", "words_of"]

_AROUND = 100


class Passage(Struct, frozen=True):
    """A place where all the words stand: a turn, an archive or an event, and the text around."""

    where: str
    excerpt: str
    at: int = 0


def words_of(query: str) -> tuple[str, ...]:
    """The words of a query, without case.

    >>> words_of("Token  refresh")
    ('token', 'refresh')
    """
    return tuple(query.casefold().split())


def search_session(session: Session, words: tuple[str, ...]) -> Iterator[Passage]:
    """Turns in which a text holds all the words, the newest first."""
    in_view, numbers = set(session.places_in_view), session.numbers
    for place in reversed(range(len(session.turns))):
        found = _excerpt(_texts(session.turns[place]), words)
        if found:
            gone = "" if place in in_view else ", out of view"
            at = session.times[place] if place < len(session.times) else 0
            yield Passage(f"turn {numbers[place]}{gone}", found, at)


def search_archives(
    archives: Iterable[tuple[Path, Archive]], words: tuple[str, ...]
) -> Iterator[Passage]:
    """Archives whose text holds all the words, in the order they come."""
    for path, archive in archives:
        texts = (archive.topic, *archive.decisions, *archive.files, *archive.questions)
        if found := _excerpt((*texts, archive.excerpt), words):
            yield Passage(str(path), found)


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
    """The text around the words, from the first text that holds them all."""
    for text in texts:
        folded = text.casefold()
        if words and all(word in folded for word in words):
            return _around(text, words)
    return ""


def _around(text: str, words: tuple[str, ...]) -> str:
    found = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE)
    start = max(0, found.start() - _AROUND) if found else 0
    end = (found.end() if found else 0) + _AROUND
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
