"""Searches a session and archives for words, without an index."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.session import Session, TopicArchive
from sapwood.core.content import Text
from sapwood.core.turn import Reply, Turn

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
