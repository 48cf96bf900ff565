"""Judges whether a value looks like a secret: random, or as a person chooses a password."""

import re

__all__ = ["is_placeholder", "looks_random", "looks_typed"]

# The searched text has one character a byte, so an ellipsis is written as its three bytes.
_PLACEHOLDER_PARTS = re.compile(
    r"example|change.?me|your[_-]|placeholder|redacted|dummy|xxxx|\*\*\*|\.\.\.|\xe2\x80\xa6|"
    r"\[secret: |[$#{]\{|%[(sdvr]|process\.env|environ|getenv"
)
_PLACEHOLDER_STARTS = ("$", "%", "<", "{", "env.", "env:")
_PLACEHOLDERS = frozenset(
    "user pass pw password passwd secret token test testing root admin postgres guest none null "
    "nil true false undefined string optional required unset empty default".split()
)
_NAME = re.compile(r"[A-Za-z_]+(?:[._:-]+[A-Za-z_]+)*+")
_PATH_OR_URL = re.compile(r"[~.]{0,2}/|[a-z][a-z0-9+.-]{0,20}://|arn:")
_CLASSES = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_LETTER = re.compile(r"[A-Za-z]")
_DIGIT = re.compile(r"[0-9]")
_RANDOM_LENGTH = 12
_RANDOM_CHARACTERS = 8
"""Different characters. Random texts of twelve characters or more have more, most words less."""
_RANDOM_CHANGES = 0.3
"""Changes between lower case, upper case, digit and other, per character; words have few."""
_TYPED_LENGTH = 8


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder or names the source of a secret, such as `$TOKEN`."""
    lower = value.lower()
    if lower in _PLACEHOLDERS or lower.startswith(_PLACEHOLDER_STARTS):
        return True
    return _PLACEHOLDER_PARTS.search(lower) is not None


def looks_random(value: str) -> bool:
    """Whether a machine may have made the value: long, mixed, and no path, name or number."""
    return (
        len(value) >= _RANDOM_LENGTH
        and _DIGIT.search(value) is not None
        and _LETTER.search(value) is not None
        and len(_CLASSES.findall(value)) >= _RANDOM_CHANGES * len(value)
        and not is_placeholder(value)
        and _PATH_OR_URL.match(value) is None
        and len(set(value)) >= _RANDOM_CHARACTERS
    )


def looks_typed(value: str) -> bool:
    """Whether a person may have chosen the value as a password: long enough, more than a name."""
    return (
        len(value) >= _TYPED_LENGTH
        and _NAME.fullmatch(value) is None
        and not value.lstrip("-").isdigit()
        and (_LETTER.search(value) is not None or _DIGIT.search(value) is not None)
        and not is_placeholder(value)
        and _PATH_OR_URL.match(value) is None
    )
