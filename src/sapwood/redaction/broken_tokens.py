"""Finds tokens that are broken over lines or written as several strings in code."""

import re
from collections.abc import Iterator

from sapwood.redaction.byte_text import Searched, Span
from sapwood.redaction.token_search import kind_of_token, token_length
from sapwood.redaction.value_shapes import looks_random

__all__ = ["find_broken_tokens"]

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
_LONG_WORD = 16
_MOST_AFTER_START = 16
_MOST_LINES = 8
_SHORTEST_TOKEN = 24
"""At most the length of the shortest token with one of these starts."""
_DIGIT = re.compile(r"\d", re.ASCII)


def find_broken_tokens(searched: Searched) -> Iterator[Span]:
    """Yields tokens that continue after a break. One of their first two parts is a long word."""
    text, done = searched.text, 0
    if not searched.long_words:
        return
    places = ((place, start) for start in _STARTS if start in text for place in _all(text, start))
    for place, start in sorted(places):
        if place >= done and _is_broken(text, place, len(start)):
            done, span = _continued(text, place)
            if span is not None:
                yield span


def _all(text: str, part: str) -> Iterator[int]:
    """Every place of a part of the text."""
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + len(part))


def _is_broken(text: str, place: int, size: int) -> bool:
    """Whether a token may start at this place, with a start of this size, and go on after a break.

    If its first part is short, the second one is a long word.
    """
    end = _end_of_run(text, place)
    gap = _BREAK.match(text, end)
    if gap is None:
        return False
    if end - place >= _LONG_WORD and text[place - 1 : place] not in _IN_WORDS:
        return True
    after = _end_of_run(text, gap.end()) - gap.end()
    return after >= _LONG_WORD and end - place - size <= _MOST_AFTER_START


def _continued(text: str, position: int) -> tuple[int, Span | None]:
    """Where the search goes on, and the token that begins here if it continues after a break."""
    first_end = end = _end_of_run(text, position)
    if position and text[position - 1].isalnum():
        return end, None
    joined = text[position:end]
    for _ in range(_MOST_LINES):
        gap = _BREAK.match(text, end)
        if gap is None:
            break
        last = _end_of_run(text, gap.end())
        piece = text[gap.end() : last]
        if piece.startswith(_STARTS) or not _continues(joined, piece):
            break
        joined, end = joined + piece, last
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
