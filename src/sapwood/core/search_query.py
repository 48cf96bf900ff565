"""What a person or a model types into a search: words, phrases in quotes, filters."""

import re
from datetime import UTC, datetime

from msgspec import Struct

from sapwood.core.search_terms import (
    STOP_WORDS,
    fold,
    is_unspaced,
    normal_text,
    parts_of,
    stem,
    word_pattern,
)

_MAX_KEYS = 48
_FILTER = re.compile(r'(?<!\S)(agent|file|tool|before|after|is):(?:"([^"]+)"|(\S+))')
_PHRASE = re.compile(r'"([^"]+)"')


class SearchKey(Struct, frozen=True):
    """A word or a phrase of a query, and how much it counts.

    `terms` must all be in an event for the key to be there. A `phrase`, folded and with spaces,
    must also be in its text. `word` is the folded word. A `prefix` key finds terms that begin like
    its one term.
    """

    terms: tuple[str, ...]
    word: str = ""
    phrase: str = ""
    weight: float = 1.0
    prefix: bool = False


class SearchQuery(Struct, frozen=True):
    """A query in its parts. `before` and `after` are microseconds since 1970; 0 is no limit.

    `question` is the query without filters, for a search by meaning; empty if a phrase must be
    there word for word.
    """

    keys: tuple[SearchKey, ...] = ()
    agents: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    decisions: bool = False
    question: str = ""

    @property
    def filters_turns(self) -> bool:
        """Whether a filter asks for something that only the whole turn can answer."""
        return bool(self.files or self.tools or self.decisions)


def read_query(text: str) -> SearchQuery:
    """Reads a query. What is no filter that can be understood is searched as words.

    >>> query = read_query('retry "token refresh" tool:shell after:2026-05-01')
    >>> [key.word or key.phrase for key in query.keys], query.tools, query.after
    ([' token refresh ', 'retry'], ('shell',), 1777593600000000)
    """
    named: dict[str, list[str]] = {}

    def take(found: re.Match[str]) -> str:
        name, value = found[1], found[2] or found[3]
        if name in ("before", "after") and _time_of(value) is None:
            return found[0]
        if name == "is" and value != "decision":
            return found[0]
        named.setdefault(name, []).append(value)
        return " "

    words = _FILTER.sub(take, normal_text(text))
    before = [at for value in named.get("before", ()) if (at := _time_of(value)) is not None]
    after = [at for value in named.get("after", ()) if (at := _time_of(value)) is not None]
    return SearchQuery(
        _keys(words),
        tuple(named.get("agent", ())),
        tuple(named.get("file", ())),
        tuple(named.get("tool", ())),
        min(before, default=0),
        max(after, default=0),
        "is" in named,
        "" if _PHRASE.search(words) else " ".join(words.split()),
    )


def _time_of(value: str) -> int | None:
    """The start of a day or a time in UTC, in microseconds; None if it is neither."""
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1_000_000)


def _keys(text: str) -> tuple[SearchKey, ...]:
    phrases = [key for found in _PHRASE.findall(text) if (key := _phrase_key(found))]
    words = _words(_PHRASE.sub(" ", text))
    telling = [key for key in words if not _says_nothing(key.word)]
    chosen = telling or ([] if phrases else words)
    # A mark without a letter, as in 'ั', is a word without a term.
    distinct = {key.terms: key for key in reversed((*phrases, *chosen)) if all(key.terms)}
    return tuple(reversed(distinct.values()))[:_MAX_KEYS]


def _says_nothing(word: str) -> bool:
    """Whether this is a stop word, or a pair of two, such as 'of what' in Chinese."""
    return word in STOP_WORDS or (is_unspaced(word) and STOP_WORDS.issuperset(word))


def _phrase_key(text: str) -> SearchKey | None:
    words = [fold(word) for word in word_pattern().findall(text)]
    terms = [
        term for word in words for term in (_pairs(word) if is_unspaced(word) else (stem(word),))
    ]
    spaced = " ".join(" ".join(word) if is_unspaced(word) else word for word in words)
    return SearchKey(tuple(dict.fromkeys(terms)), phrase=f" {spaced} ") if terms else None


def _words(text: str) -> list[SearchKey]:
    keys: list[SearchKey] = []
    for word in word_pattern().findall(text):
        folded = fold(word)
        if is_unspaced(word):
            keys += [SearchKey((pair,), pair) for pair in _pairs(folded)]
        elif folded:
            keys.append(SearchKey((stem(folded),), folded))
            keys += [SearchKey((stem(fold(part)),), fold(part)) for part in parts_of(word)]
    return keys


def _pairs(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(max(1, len(word) - 1))]
