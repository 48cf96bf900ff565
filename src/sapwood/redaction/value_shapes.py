"""Judges whether a value looks like a secret: random, or as a person chooses a password."""

import re
from functools import cache
from math import ceil

from sapwood.redaction.byte_text import LazyPattern

# The searched text has one character a byte, so an ellipsis is written as its three bytes.
_PLACEHOLDER_PARTS = LazyPattern(
    r"example|change.?me|your[_-]|placeholder|redacted|dummy|xxxx|\*\*\*|\.\.\.|\xe2\x80\xa6|"
    r"\[secret: |\$\{|#\{|\{\{|%\(|%[sdvr](?![a-z0-9])|process\.env|environ|getenv"
)
"""Every alternative begins with a plain character, so `re` skips all others fast."""
_PLACEHOLDER_STARTS = ("$", "%", "<", "{", "env.", "env:")
_PLACEHOLDER_FIRST = frozenset(start[0] for start in _PLACEHOLDER_STARTS)
_PLACEHOLDERS = frozenset(
    "user pass pw password passwd secret token test testing root admin postgres guest none null "
    "nil true false undefined string optional required unset empty default".split()
)
_PATH_OR_URL = r"[~.]{0,2}/|[a-z][a-z0-9+.-]{0,20}://|arn:"
_LETTER_AND_DIGIT = (
    rf"(?!{_PATH_OR_URL})"
    r"(?=[^0-9A-Za-z]*+(?:[0-9][^A-Za-z]*+[A-Za-z]|[A-Za-z][^0-9]*+[0-9]))"
)
_LETTER_OR_DIGIT = LazyPattern(rf"(?!{_PATH_OR_URL})[^0-9A-Za-z]*+[0-9A-Za-z]")
_NAME = LazyPattern(r"[:@]?[A-Za-z_]++(?:[.:-]++[A-Za-z_]++)*[:;.,]?")
"""A name, also as a parameter of SQL (`:password`) or at the end of a line of code."""
_CHOSEN = LazyPattern(
    r"(?=[^0-9]*+[0-9])(?=[^A-Za-z]*+[A-Za-z])"
    r"(?:(?=[^A-Z]*+[A-Z])(?=[^a-z]*+[a-z])|(?=[^!@#$%^&*_?+~]*+[!@#$%^&*_?+~]))"
)
_ALGORITHM = LazyPattern(r"sha-?\d|base-?\d\d|utf-?\d|md5|argon2|pbkdf2|oauth|rfc\d|v\d", re.I)
_RANDOM_LENGTH = 12
_RANDOM_CHARACTERS = 8
"""Different characters. Random texts of twelve characters or more have more, most words less."""
_RANDOM_CHANGES = 0.3
"""Changes between lower case, upper case, digit and other, per character; words have few."""
_TYPED_LENGTH = 8


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder or names the source of a secret, such as `$TOKEN`."""
    lower = value.lower()
    return (
        lower in _PLACEHOLDERS
        or _PLACEHOLDER_PARTS.search(lower) is not None
        or (lower[:1] in _PLACEHOLDER_FIRST and lower.startswith(_PLACEHOLDER_STARTS))
    )


def looks_random(value: str) -> bool:
    """Whether a machine may have made the value: long, mixed, and no path, name or number."""
    return (
        len(value) >= _RANDOM_LENGTH
        and _mixed(len(value)).match(value) is not None
        and len(set(value)) >= _RANDOM_CHARACTERS
        and not is_placeholder(value)
    )


@cache
def _mixed(length: int) -> re.Pattern[str]:
    """Returns a pattern for values of this length: a letter, a digit, and enough changes of class.

    A change is where a run of characters of one class ends.
    """
    runs = r"(?:[a-z]++|[A-Z]++|[0-9]++|[^A-Za-z0-9]++)"
    return re.compile(f"{_LETTER_AND_DIGIT}{runs}{{{ceil(_RANDOM_CHANGES * length)}}}")


def looks_scrambled(value: str) -> bool:
    """Whether a word of letters only is random: its case changes more often than in any name."""
    runs = _RUN_OF_LETTERS.findall(value)
    return value.isalpha() and len(value) >= _RANDOM_LENGTH and len(runs) > len(value) * 0.46


_RUN_OF_LETTERS = LazyPattern("[a-z]+|[A-Z]+")


def looks_typed(value: str) -> bool:
    """Whether a person may have chosen the value as a password: long enough, more than a name."""
    return (
        len(value) >= _TYPED_LENGTH
        and _NAME.fullmatch(value) is None
        and not value.lstrip("-").isdigit()
        and _LETTER_OR_DIGIT.match(value) is not None
        and not is_placeholder(value)
    )


def looks_chosen(value: str) -> bool:
    """Whether the value looks like a password even in a sentence: a digit, and letters of both
    cases or a sign, and no name of an algorithm.
    """
    return (
        looks_typed(value)
        and _CHOSEN.match(value) is not None
        and _ALGORITHM.match(value) is None
        and "/" not in value
    )
