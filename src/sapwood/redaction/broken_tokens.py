"""Finds tokens that are broken over lines or written as several strings in code."""

import re
from collections.abc import Iterator

from sapwood.redaction.byte_text import Searched, Span
from sapwood.redaction.token_search import kind_of_token, token_length
from sapwood.redaction.value_shapes import looks_random

_STARTS = (
    *("ghp_", "gho_", "ghs_", "github_pat_", "sk-ant-", "sk-proj-", "glpat-", "xoxb-", "xoxp-"),
    *("AIza", "npm_", "sk_live_", "ops_", "hf_", "pypi-AgE", "dckr_pat_", "shpat_"),
)
"""How tokens begin that people paste most. A short prefix would be found in ordinary words."""
_IN_WORDS = ("_", "-")
"""What may stand before the start of a token, but not before a word."""
_RUN = re.compile(r"[\w-]*+", re.ASCII)
_GAP = (
    r"""(?:["'`]?[ \t]{0,4}[+\\.]?[ \t]{0,4}\r?\n[ \t]{0,32}(?:\d{1,7}(?:\t|:[ ]?))?[ \t]{0,32}"""
    r"""(?:[+>|][ ]?)?["'`]?|["'`][ ]?[+.][ ]?["'`])"""
)
_BREAK = re.compile(_GAP + r"(?=[\w-]{8})", re.ASCII)
_LONGEST_BREAK = 100
_BEFORE_PART = "\n\t \"'`"
_AFTER_LINE_BREAK = " \t0123456789:+>|\"'`"
_LONG_WORD = 16
_MAX_AFTER_START = 16
_MAX_LINES = 8
_SHORTEST_TOKEN = 24
"""At most the length of the shortest token with one of these starts."""
_DIGIT = re.compile(r"\d", re.ASCII)


def find_broken_tokens(searched: Searched) -> Iterator[Span]:
    """Yields tokens that continue after a break. One of their first two parts is a long word."""
    text, done = searched.text, 0
    if not any(_may_be_part(text, start) for start, _ in searched.long_words):
        return
    run, gap = 0, None
    for place, start in sorted(_all_starts(text)):
        if place < done or (place and text[place - 1].isalnum()):
            continue
        if place >= run:  # not within the run of the start before
            run = _end_of_run(text, place)
            gap = _BREAK.match(text, run)
        if gap is not None and _is_broken(text, place, run - len(start), gap):
            done, span = _continued(text, place, gap)
            if span is not None:
                yield span


def _may_be_part(text: str, word: int) -> bool:
    """Whether a long word is the first part of a broken token, or follows one. Looks fast."""
    if text.startswith(_STARTS, word):
        return True
    if not word or text[word - 1] not in _BEFORE_PART:
        return False
    before = text[word - _LONGEST_BREAK if word > _LONGEST_BREAK else 0 : word]
    is_joined = "+" in before[-3:] or "." in before[-3:]
    if not is_joined and before.rstrip(_AFTER_LINE_BREAK)[-1:] != "\n":
        return False
    return any(map(before.__contains__, _STARTS))


def _all_starts(text: str) -> Iterator[tuple[int, str]]:
    """Every place at which a token may start, and its start."""
    for start in _STARTS:
        place = text.find(start)
        while place >= 0:
            yield place, start
            place = text.find(start, place + len(start))


def _is_broken(text: str, place: int, last: int, gap: re.Match[str]) -> bool:
    """Whether a token may start at this place and go on after the gap.

    If its first part is short, the second one is a long word. `last` is where the run before the
    gap ends, less the size of the start.
    """
    if gap.start() - place >= _LONG_WORD and text[place - 1 : place] not in _IN_WORDS:
        return True
    if last - place > _MAX_AFTER_START:
        return False
    return _end_of_run(text, gap.end()) - gap.end() >= _LONG_WORD


def _continued(text: str, position: int, gap: re.Match[str] | None) -> tuple[int, Span | None]:
    """Where the search goes on, and the token that begins here if it continues after the gap."""
    first_end = end = gap.start() if gap else position
    joined = text[position:end]
    for _ in range(_MAX_LINES):
        if gap is None:
            break
        last = _end_of_run(text, gap.end())
        piece = text[gap.end() : last]
        if piece.startswith(_STARTS) or not _continues(joined, piece):
            break
        joined, end = joined + piece, last
        gap = _BREAK.match(text, end)
    if end == first_end or len(joined) < _SHORTEST_TOKEN or not token_length(joined):
        return first_end, None
    return end, Span(position, end, kind_of_token(joined))


def _continues(joined: str, piece: str) -> bool:
    """Whether a piece belongs to the token before it: it looks random, or has a digit at least if
    the token is not complete without it.
    """
    if len(joined) < _SHORTEST_TOKEN:
        return _DIGIT.search(piece) is not None
    return looks_random(piece) or (not token_length(joined) and _DIGIT.search(piece) is not None)


def _end_of_run(text: str, start: int) -> int:
    run = _RUN.match(text, start)
    return run.end() if run else start
