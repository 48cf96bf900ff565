"""The ranking of search: which events to read, and the order of the turns that they belong to.

One function ranks for every store and every face. A database only says which events have a term;
the texts decide. The score of a turn is BM25 with a fixed mean length, plus a little for words that
stand together as in the query, for other words of the query in the same conversation, and for turns
that are new. What tools printed counts less than what people and models said. Where texts can
be compared by meaning, how much a text is like the query counts too.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Generic, TypeVar

from msgspec import Struct

from sapwood.core.event_texts import event_texts
from sapwood.core.events import Recorded, ToolFinished
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.log_values import SearchHit
from sapwood.core.search_query import SearchKey, SearchQuery
from sapwood.core.search_terms import (
    STOP_WORDS,
    WORD_TERMS,
    fold,
    folded_letters,
    index_terms,
    is_unspaced,
    normal_text,
    spaced,
    stem,
    word_pattern,
)

MAX_TEXTS = 100
"""Events whose texts are read for one search. The others follow in the order of their terms."""
MAX_PER_TERM = 1_000
"""Events that a database returns for one term, the newest first: others have it too, if it is so
common that there are more."""
IN_TURNS = ("reply.added", "reply.lost", "tool.finished", "turn.failed")
"""Kinds of events that belong to the turn that began before them."""

_K1, _B, _MEAN_CHARACTERS, _MAX_LENGTH = 1.2, 0.4, 400, 3.0
_MAX_OCCURRENCES = 200
_OTHER_FORM, _TOGETHER, _CONVERSATION, _NEW = 0.85, 0.75, 0.1, 0.02
_BY_TOOLS = 0.6
"""How much a word counts in a tool call or its result: less, however often it is there, than once
in what people and models said."""
_MEANING, _LEAST_LIKENESS = 2.5, 0.2
"""How much likeness counts beside the words, of which the best turn has 1. Events that have no word
of the query and are less like it are no hits."""
_DAY = 86_400_000_000
_MONTH = 30 * _DAY
_SPLIT_WEIGHT, _SIMILAR_WEIGHT, _COMPOUND_WEIGHT, _CHARACTER_WEIGHT = 0.7, 0.6, 0.4, 0.25
_SHORTEST_PART, _SHORTEST_TYPO, _LIKENESS = 4, 5, 0.7
_RARE = 20
"""A word that at most so many events have is also looked for at the beginning of compounds."""
_PART_CHARACTERS, _PART_OVERLAP = 200_000, 2_000
_WINDOW, _SNIPPET, _NEAR_CHARACTERS = 160, 240, 8


Place = TypeVar("Place", bound=Hashable)
"""What a store calls an event by."""


class KeyHits(Struct, Generic[Place], frozen=True):
    """The newest events that have a key, and the estimated number of all of them.

    A store may leave out the events of a key that very many have, if another key is rarer.
    """

    events: Sequence[Place]
    count: float


class CandidateEvent(Struct, frozen=True):
    """An event to be ranked, and the version of the event that began its turn."""

    recorded: Recorded
    turn: int


def wider_keys(
    keys: Sequence[SearchKey], found: Mapping[SearchKey, KeyHits[Place]]
) -> list[SearchKey]:
    """Keys to try for words that are nowhere: their parts, and words that begin as they do.

    A word that is rare is also looked for as the beginning of a compound.
    """
    wider: list[SearchKey] = []
    for key in keys:
        if key.phrase or found[key].count > _RARE:
            continue
        word, (term, *_) = key.word, key.terms
        if word.isalpha() and not is_unspaced(word) and len(term) >= _SHORTEST_PART:
            wider.append(SearchKey(key.terms, weight=_COMPOUND_WEIGHT, prefix=True))
        if found[key].count:
            continue
        if is_unspaced(word):
            wider += [
                SearchKey((each,), each, weight=_CHARACTER_WEIGHT)
                for each in word
                if each not in STOP_WORDS and len(word) > 1
            ]
        elif word.isalpha():
            wider += _parts(word)
            if len(word) >= _SHORTEST_TYPO:
                start = word[: max(3, len(word) // 2)]
                wider.append(SearchKey((start,), word, weight=_SIMILAR_WEIGHT, prefix=True))
    return wider


def _parts(word: str) -> list[SearchKey]:
    """Both parts of a compound at every place where it could be cut, one after the other."""
    places = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
    return [
        SearchKey((stem(part),), part, weight=_SPLIT_WEIGHT)
        for place in places
        for part in (word[:place], word[place:])
    ]


def useful_keys(
    keys: Iterable[SearchKey], found: Mapping[SearchKey, KeyHits[Place]]
) -> list[SearchKey]:
    """The keys that some event has. A part of a compound counts only if the other is there too."""
    kept: list[SearchKey] = []
    waiting: SearchKey | None = None
    for key in keys:
        if key.weight == _SPLIT_WEIGHT:
            if waiting is None:
                waiting = key
                continue
            if found[waiting].count and found[key].count:
                kept += [waiting, key]
            waiting = None
        elif found[key].count:
            kept.append(key)
    return list({(key.terms, key.prefix): key for key in reversed(kept)}.values())[::-1]


def common_terms(
    keys: Sequence[SearchKey], found: Mapping[SearchKey, KeyHits[Place]], limit: int
) -> list[SearchKey]:
    """Keys to look up in addition if every word is so common that not all its events were returned.

    They ask for events that have all the words, and for those that have the two rarest.
    """
    words = [key for key in keys if not key.phrase]
    if len(words) < 2 or any(len(found[key].events) < limit for key in keys):
        return []
    rarest = sorted(words, key=lambda key: found[key].count)[:2]
    groups = [words, rarest] if len(words) > 2 else [words]
    return [SearchKey(tuple(key.terms[0] for key in group)) for group in groups]


def rarity(count: float, total: int) -> float:
    """How much a key says that `count` of `total` events have."""
    known = min(count, total)
    return math.log(1 + (total - known + 0.5) / (known + 0.5))


def choose_events(
    keys: Sequence[SearchKey],
    found: Mapping[SearchKey, KeyHits[Place]],
    total: int,
    with_all: Iterable[Place] = (),
) -> list[Place]:
    """All events that have a key and every phrase, those with more and rarer keys first.

    Of equal ones, those come first that a database returned first. `with_all` are events that have
    several of the keys, though they are not among those of each key.
    """
    scores: dict[Place, float] = {}
    for key in keys:
        worth = key.weight * rarity(found[key].count, total)
        for ref in found[key].events:
            scores[ref] = scores.get(ref, 0.0) + worth
    highest = max(scores.values(), default=0.0)
    scores |= dict.fromkeys(with_all, highest)
    for key in keys:
        if key.phrase:
            having = set(found[key].events)
            scores = {ref: score for ref, score in scores.items() if ref in having}
    return sorted(scores, key=scores.__getitem__, reverse=True)


class _Match(Struct, frozen=True, gc=False):
    start: int
    end: int
    key: int
    worth: float
    said: bool = True


class _EventMatches(Struct, frozen=True):
    recorded: Recorded
    text: str
    matches: list[_Match]
    said: int
    likeness: float = 0.0


class _Matcher(dict[str, "tuple[tuple[int, float], ...]"]):
    """A cache from a word of a text to the keys that it matches, and how well."""

    def __init__(self, keys: Sequence[SearchKey]) -> None:
        super().__init__()
        self._keys = keys
        self._by_term: dict[str, list[int]] = {}
        self._prefixes: list[int] = []
        for number, key in enumerate(keys):
            if key.prefix:
                self._prefixes.append(number)
            for term in key.terms:
                self._by_term.setdefault(term, []).append(number)
        sharp = (term.replace("ss", "ß") for term in self._by_term if "ss" in term)
        self.needles = (*self._by_term, *sharp)

    def __missing__(self, word: str) -> tuple[tuple[int, float], ...]:
        folded = fold(word)
        found: dict[int, float] = {}
        for term in WORD_TERMS[word]:
            for number in self._by_term.get(term, ()):
                key = self._keys[number]
                if not key.prefix:
                    exact = not key.word or key.word in (folded, term) or is_unspaced(word)
                    found[number] = 1.0 if exact else _OTHER_FORM
        for number in self._prefixes:
            key = self._keys[number]
            if not folded.startswith(key.terms[0]):
                continue
            if not key.word:  # a compound
                if stem(folded) != key.terms[0]:
                    found[number] = 1.0
            elif (likeness := _likeness(folded, key.word)) >= _LIKENESS:
                found[number] = likeness
        self[word] = matches = tuple(found.items())
        return matches


def _likeness(one: str, other: str) -> float:
    """The share of the letters that two words have in common, in the same order.

    >>> [round(_likeness("receive", word), 2) for word in ("recieve", "receives", "recent")]
    [0.86, 0.93, 0.62]
    """
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def rank_turns(
    keys: Sequence[SearchKey],
    found: Mapping[SearchKey, KeyHits[Place]],
    total: int,
    events: Sequence[CandidateEvent],
    limit: int | None = None,
    likeness: Mapping[EventRef, float] | None = None,
) -> list[SearchHit]:
    """The best turns of these events, best first, each with the sentence that fits best.

    `likeness` says how much each event is like the query in meaning, at most 1.
    """
    worths = [key.weight * rarity(found[key].count, total) for key in keys]
    matcher = _Matcher(keys)
    turns: dict[EventRef, list[_EventMatches]] = {}
    for each in events:
        matched = _matches(each.recorded, keys, matcher) or _alike(each.recorded, likeness)
        if matched is not None:
            turns.setdefault(EventRef(each.recorded.agent, each.turn), []).append(matched)
    words = {
        ref: {match.key for part in parts for match in part.matches} for ref, parts in turns.items()
    }
    elsewhere: dict[AgentId, set[int]] = {}
    for ref, each in words.items():
        elsewhere.setdefault(ref.agent, set()).update(each)
    newest = max((part.recorded.at for parts in turns.values() for part in parts), default=0)
    scores: dict[EventRef, float] = {}
    for ref, parts in turns.items():
        at = max(part.recorded.at for part in parts)
        score = _word_score(parts, worths)
        score += _together_bonus(parts, worths)
        score += _CONVERSATION * sum(worths[key] for key in elsewhere[ref.agent] - words[ref])
        score *= 1 + _NEW * 0.5 ** ((newest - at) / _MONTH)
        scores[ref] = score
    if likeness:
        _add_likeness(scores, turns, likeness)
    found_in = {ref.agent for ref, parts in turns.items() if not _is_name(parts)}
    scores = {
        ref: score
        for ref, score in scores.items()
        if ref.agent not in found_in or not _is_name(turns[ref])
    }
    ranked = [
        (round(score, 6), max(part.recorded.at for part in turns[ref]), ref)
        for ref, score in scores.items()
    ]
    ranked.sort(key=lambda each: (-each[0], -each[1], each[2].agent, -each[2].version))
    return [_hit(ref, turns[ref], worths, score) for score, _, ref in ranked[:limit]]


def _is_name(parts: Sequence[_EventMatches]) -> bool:
    """Whether this is the name of a conversation: a hit only if no turn of it is one."""
    return all(part.recorded.kind in ("agent.started", "agent.renamed") for part in parts)


def _alike(recorded: Recorded, likeness: Mapping[EventRef, float] | None) -> _EventMatches | None:
    """An event without a word of the query that is about the same."""
    if not likeness or likeness.get(recorded.ref, 0.0) < _LEAST_LIKENESS:
        return None
    text, said = _text_of(recorded)
    return _EventMatches(recorded, text[:_PART_CHARACTERS], [], said, likeness[recorded.ref])


def _add_likeness(
    scores: dict[EventRef, float],
    turns: Mapping[EventRef, Sequence[_EventMatches]],
    likeness: Mapping[EventRef, float],
) -> None:
    """Adds the likeness of the best event of each turn to its score by words."""
    highest = max(scores.values(), default=0.0) or 1.0
    for ref, parts in turns.items():
        best = max(likeness.get(part.recorded.ref, 0.0) for part in parts)
        scores[ref] = scores[ref] / highest + _MEANING * best


def search_events(query: SearchQuery, events: Sequence[CandidateEvent]) -> list[SearchHit]:
    """Searches events that are in memory, without an index."""
    chosen = [
        (each, frozenset(index_terms(event_texts(each.recorded.event).search)))
        for each in events
        if each.recorded.at >= query.after and not 0 < query.before <= each.recorded.at
    ]

    def look_up(key: SearchKey) -> KeyHits[int]:
        found = [place for place, (_, terms) in enumerate(chosen) if _has_key(terms, key)]
        return KeyHits(found[::-1], len(found))

    found = {key: look_up(key) for key in query.keys}
    wider = wider_keys(query.keys, found)
    found |= {key: look_up(key) for key in wider if key not in found}
    keys = useful_keys((*query.keys, *wider), found)
    if any(key.phrase and key not in keys for key in query.keys):
        return []
    best = [chosen[place][0] for place in choose_events(keys, found, len(chosen))]
    hits = rank_turns(keys, found, len(chosen), best[:MAX_TEXTS])
    return hits + unranked_hits(keys, best[MAX_TEXTS:], hits)


def _has_key(terms: frozenset[str], key: SearchKey) -> bool:
    if key.prefix:
        return any(term.startswith(key.terms[0]) for term in terms)
    return terms.issuperset(key.terms)


def grouped(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """The hits of each conversation together, the conversation with the best hit first."""
    found: dict[AgentId, list[SearchHit]] = {}
    for hit in hits:
        found.setdefault(hit.ref.agent, []).append(hit)
    return [hit for each in found.values() for hit in each]


def unranked_hits(
    keys: Sequence[SearchKey], events: Iterable[CandidateEvent], ranked: Iterable[SearchHit]
) -> list[SearchHit]:
    """The turns beyond those that are ranked by their texts, in the given order, with score 0."""
    seen = {EventRef(hit.ref.agent, hit.turn) for hit in ranked}
    matcher, hits = _Matcher(keys), list[SearchHit]()
    for event in events:
        turn = EventRef(event.recorded.agent, event.turn)
        found = None if turn in seen else _matches(event.recorded, keys, matcher)
        if found is not None:
            seen.add(turn)
            hits.append(_hit(turn, [found], [1.0] * len(keys), 0.0))
    return hits


def _matches(
    recorded: Recorded, keys: Sequence[SearchKey], matcher: _Matcher
) -> _EventMatches | None:
    """What an event has of the query; of a very long text, the first part that has anything."""
    text, said = _text_of(recorded)
    phrases = [key.phrase for key in keys if key.phrase]
    for start in range(0, max(len(text), 1), _PART_CHARACTERS):
        part = text[start : start + _PART_CHARACTERS + _PART_OVERLAP]
        if phrases and not _has_all(part, phrases):
            continue
        if matches := _matched_words(part, matcher, said - start):
            return _EventMatches(recorded, part, matches, said - start)
    return None


def _text_of(recorded: Recorded) -> tuple[str, int]:
    """The text of an event, and how much of its beginning people and models said."""
    texts = event_texts(recorded.event)
    text = normal_text(texts.search)
    if recorded.kind == ToolFinished.kind:
        return text, 0
    return text, len(text if texts.said is None else normal_text(texts.search[: texts.said]))


def _has_all(text: str, phrases: Sequence[str]) -> bool:
    words = spaced(text)
    return all(phrase in words for phrase in phrases)


def _matched_words(text: str, matcher: _Matcher, said: int) -> list[_Match]:
    """Where the words of the query are. Those after the first `said` characters are of tools.

    A word begins with its term, and so does a part of an identifier. To look for the terms as
    letters is ten times as fast as to look at every word.
    """
    letters = folded_letters(text)
    found: dict[tuple[int, int], _Match] = {}
    for term in matcher.needles:
        at = letters.find(term)
        for _ in range(_MAX_OCCURRENCES):
            if at < 0:
                break
            start, end = (at, at + len(term)) if is_unspaced(term) else _word_at(text, at)
            for key, worth in matcher[text[start:end]]:
                found[start, key] = _Match(start, end, key, worth, start < said)
            at = letters.find(term, max(end, at + 1))
    return sorted(found.values(), key=lambda match: (match.start, match.key))


def _word_at(text: str, at: int) -> tuple[int, int]:
    start = at
    while start > 0 and text[start - 1].isalnum() and not is_unspaced(text[start - 1]):
        start -= 1
    found = word_pattern().match(text, start)
    return start, max(found.end() if found else at, at + 1)


def _word_score(parts: Sequence[_EventMatches], worths: Sequence[float]) -> float:
    """How well the words of a turn fit: each word counts where it fits better.

    What was said counts by BM25. What tools printed counts once, however often and in however much
    output it is there.
    """
    length = 1 - _B + _B * min(_spoken(parts) / _MEAN_CHARACTERS, _MAX_LENGTH)
    counts: dict[int, float] = {}
    printed: dict[int, float] = {}
    for match in (match for part in parts for match in part.matches):
        if match.said:
            counts[match.key] = counts.get(match.key, 0.0) + match.worth
        else:
            printed[match.key] = max(printed.get(match.key, 0.0), _BY_TOOLS * match.worth)
    said = {key: count * (_K1 + 1) / (count + _K1 * length) for key, count in counts.items()}
    keys = sorted(said.keys() | printed.keys())
    return sum(worths[key] * max(said.get(key, 0.0), printed.get(key, 0.0)) for key in keys)


def _spoken(parts: Sequence[_EventMatches]) -> int:
    """How many characters people and models said."""
    return sum(max(0, min(part.said, len(part.text))) for part in parts)


def _together_bonus(parts: Sequence[_EventMatches], worths: Sequence[float]) -> float:
    """Words that follow each other in the query and in the text count a little more."""
    pairs = {
        (one.key, other.key)
        for part in parts
        for one, other in pairwise(part.matches)
        if other.key == one.key + 1 and other.start - one.end <= _NEAR_CHARACTERS
    }
    return _TOGETHER * sum(min(worths[one], worths[other]) for one, other in pairs)


def _hit(
    turn: EventRef, parts: Sequence[_EventMatches], worths: Sequence[float], score: float
) -> SearchHit:
    windows = [(*_best_window(part.matches, worths), part) for part in parts]
    _, start, best = max(windows, key=lambda each: (each[0], each[2].likeness))
    snippet, marks = _sentence(best, start)
    recorded = best.recorded
    return SearchHit(
        recorded.ref, recorded.kind, recorded.at, snippet, score, turn.version, tuple(marks)
    )


def _best_window(matches: Sequence[_Match], worths: Sequence[float]) -> tuple[float, int]:
    """The worth and the start of the stretch of text that has the most of the query."""
    best, start, last = -1.0, 0, 0
    keys: dict[int, float] = {}
    for first, match in enumerate(matches):
        keys = {}
        last = first
        while last < len(matches) and matches[last].end - match.start <= _WINDOW:
            each = matches[last]
            worth = worths[each.key] * each.worth * (1.0 if each.said else _BY_TOOLS)
            keys[each.key] = max(keys.get(each.key, 0.0), worth)
            last += 1
        worth = sum(keys.values())
        if worth > best + 1e-9:
            best, start = worth, match.start
        if first > 2_000:
            break
    return best, start


_ENDS = ".!?\n。！？；"  # noqa: RUF001  # the ends of sentences in Chinese and Japanese


def _sentence(part: _EventMatches, start: int) -> tuple[str, list[tuple[int, int]]]:
    """The sentence around a place on one line, and the ranges of the words that were found."""
    text = part.text
    lowest = max(0, start - _SNIPPET // 3)
    begin = max((text.rfind(end, lowest, start) + 1 for end in _ENDS), default=0)
    cut_before = begin == 0 and lowest > 0
    begin = max(begin, lowest)
    last = part.said if start < part.said else len(text)
    end = min(len(text), last, begin + _SNIPPET)
    marks: list[tuple[int, int]] = []
    line = "…" if cut_before else ""
    at = begin
    for match in part.matches:
        if match.start < at or match.end > end:
            continue
        line = _joined(line, text[at : match.start])
        marks.append((len(line), len(line) + match.end - match.start))
        line += text[match.start : match.end]
        at = match.end
    line = _joined(line, text[at:end]).rstrip()
    return f"{line}{'…' if end < min(len(text), last) else ''}", marks


def _joined(line: str, more: str) -> str:
    """Adds a piece to a line, with single spaces for all white space."""
    flat = " ".join(more.split())
    before = " " if more[:1].isspace() and line and not line.endswith((" ", "…")) else ""
    after = " " if flat and more[-1:].isspace() else ""
    return f"{line}{before}{flat}{after}"
