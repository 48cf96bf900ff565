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
_FIRST = frozenset(start[0] for start in _STARTS)
_RUN = re.compile(r"[\w-]*+", re.ASCII)
_GAP = (
    r"""(?:["'`]?[ \t]{0,4}[+\\.]?[ \t]{0,4}\r?\n[ \t]{0,32}(?:\d{1,7}(?:\t|:[ ]?))?[ \t]{0,32}"""
    r"""(?:[+>|][ ]?)?["'`]?|["'`][ ]?[+.][ ]?["'`])"""
)
_BREAK = re.compile(_GAP + r"(?=[\w-]{8})", re.ASCII)
_START_AND_BREAK = re.compile(
    rf"(?<![A-Za-z0-9])(?:{'|'.join(_STARTS)})[\w-]{{0,16}}{_GAP}$",
    re.ASCII,
)
_LONGEST_BREAK = 100
_BEFORE_PART = "\n\t \"'`"
_AFTER_LINE_BREAK = " \t0123456789:+>|\"'`"
_JOINS = "+."
_MOST_LINES = 8


def find_broken_tokens(searched: Searched) -> Iterator[Span]:
    """Yields tokens that continue after a break. One of their parts is a long word."""
    text, done = searched.text, 0
    for start, _ in searched.long_words:
        if start < done:
            continue
        if text[start] in _FIRST and text.startswith(_STARTS, start):
            position = start
        else:
            position = _start_before(text, start)
        if position >= 0:
            done, span = _continued(text, position)
            if span is not None:
                yield span


def _start_before(text: str, word: int) -> int:
    """Where a token starts whose second part is this word; -1 if there is none."""
    if not word or text[word - 1] not in _BEFORE_PART:
        return -1
    before = text[max(0, word - _LONGEST_BREAK) : word]
    # Few words follow a break with a start before it, and the pattern is slow to find that out.
    line = before.rstrip(_AFTER_LINE_BREAK)
    if line[-1:] != "\n" and not any(map(before[-3:-1].__contains__, _JOINS)):
        return -1
    if not any(map(before.__contains__, _STARTS)):
        return -1
    found = _START_AND_BREAK.search(before)
    return word - len(before) + found.start() if found else -1


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
    if end == first_end or not token_length(joined):
        return first_end, None
    return end, Span(position, end, kind_of_token(joined))


def _continues(joined: str, piece: str) -> bool:
    """Whether a piece belongs to the token before it: it looks random, or has a digit at least if
    the token is not complete without it.
    """
    return looks_random(piece) or (not token_length(joined) and any(map(str.isdigit, piece)))


def _end_of_run(text: str, start: int) -> int:
    run = _RUN.match(text, start)
    return run.end() if run else start
