"""Does a value that stands where a secret would look like one?"""

import math
import re

__all__ = ["is_placeholder", "looks_random", "looks_typed"]

# An ellipsis stands in it as its bytes, as everything does that is searched.
_STAND_INS = re.compile(
    r"example|change.?me|your[_-]|placeholder|redacted|dummy|x{4}|\*{3}|\.{3}|\xe2\x80\xa6|"
    r"^[$%<{]|[$#{]\{|%\(|%[sdvr]|\[secret: |process\.env|environ|getenv|^env[.:]|"
    r"^(?:user|pass|pw|password|passwd|secret|token|test|testing|root|admin|postgres|guest|"
    r"none|null|nil|true|false|undefined|string|optional|required|unset|empty|default)$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_]+(?:[._:-]+[A-Za-z_]+)*")
_PLACE = re.compile(r"[~.]{0,2}/|[a-z][a-z0-9+.-]*://|arn:")
_CLASSES = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_RANDOM_LENGTH = 12
_RANDOM_BITS = 3.0
"""Per character. Random letters and digits have more from twelve characters on; most words less."""
_RANDOM_CHANGES = 0.3
"""Changes between small, capital, digit and other, per character: words have few."""
_TYPED_LENGTH = 8


def is_placeholder(value: str) -> bool:
    """Stands for a secret, or says where one comes from."""
    return _STAND_INS.search(value) is not None


def looks_random(value: str) -> bool:
    """As a machine would make it: long, mixed, and no path, name or number."""
    return (
        len(value) >= _RANDOM_LENGTH
        and _mixed(value)
        and not is_placeholder(value)
        and _PLACE.match(value) is None
        and len(_CLASSES.findall(value)) >= _RANDOM_CHANGES * len(value)
        and _bits(value) >= _RANDOM_BITS
    )


def looks_typed(value: str) -> bool:
    """As a person would choose a password: some length, and more than a name."""
    return (
        len(value) >= _TYPED_LENGTH
        and _NAME.fullmatch(value) is None
        and not value.isdigit()
        and not is_placeholder(value)
        and _PLACE.match(value) is None
        and any(char.isalnum() for char in value)
    )


def _mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _bits(value: str) -> float:
    size = len(value)
    shares = [value.count(char) / size for char in set(value)]
    return -sum(share * math.log2(share) for share in shares)
