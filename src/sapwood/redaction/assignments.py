"""Finds values after a name such as `password=…`, `"api_key": "…"`, `--token …`, and in URLs.

Code is full of such names, so the value must look like a secret too: random, as a machine makes
it, or, after a password name and in lines of an `.env` file, as a person chooses a password.
"""

import math
import re
from collections.abc import Callable, Iterator

from sapwood.redaction.byte_text import Span

__all__ = ["ASSIGNED_KINDS", "URL_PASSWORD", "find_assigned_values", "find_url_passwords"]

ASSIGNED_KINDS = frozenset({"credential", "password"})
URL_PASSWORD = "url-password"

# The searched text has one character a byte, so an ellipsis is written as its three bytes.
_PLACEHOLDER = re.compile(
    r"example|change.?me|your[_-]|placeholder|redacted|dummy|x{4}|\*{3}|\.{3}|\xe2\x80\xa6|"
    r"^[$%<{]|[$#{]\{|%\(|%[sdvr]|\[secret: |process\.env|environ|getenv|^env[.:]|"
    r"^(?:user|pass|pw|password|passwd|secret|token|test|testing|root|admin|postgres|guest|"
    r"none|null|nil|true|false|undefined|string|optional|required|unset|empty|default)$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_]+(?:[._:-]+[A-Za-z_]+)*")
_PATH_OR_URL = re.compile(r"[~.]{0,2}/|[a-z][a-z0-9+.-]*://|arn:")
_CLASSES = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_RANDOM_LENGTH = 12
_RANDOM_BITS = 3.0
"""Entropy per character. Random texts of twelve characters or more have more, most words less."""
_RANDOM_CHANGES = 0.3
"""Changes between lower case, upper case, digit and other, per character; words have few."""
_TYPED_LENGTH = 8
_QUOTED = r"""(?:[brfu]{0,2}\\?(?P<quote>["'`])(?P<quoted>[^\s"'`\\]{6,1024}))"""
_BARE = r"""(?P<bare>[^\s"'`\\,;&|<>(){}\[\]]{6,1024}+)(?![(\[{])"""
_TYPED = r""":[ ]{0,2}[A-Za-z][\w.|\[\]]{0,30}(?:[ ]\|[ ]\w{1,30})?[ ]{0,2}=(?!=)"""
_AFTER = re.compile(
    rf"""\\?["']?\]?[ \t]{{0,8}}(?:{_TYPED}|=>|:=|==?|:)[ \t]{{0,8}}(?:{_QUOTED}|{_BARE})""",
    re.ASCII,
)
_IN_ENV = re.compile(r"""=(?P<bare>[^\s"'`]{6,1024}+)""", re.ASCII)
_AFTER_FLAG = re.compile(rf"[ \t]{{1,4}}(?:{_QUOTED}|{_BARE})", re.ASCII)
_REST = re.compile(r"""[^\s"'`\\,;&|<>(){}\[\]]*""", re.ASCII)
_AFTER_SCHEME = re.compile(r"[ \t]{1,4}(?P<bare>[\w.~+/=:-]{8,4096})", re.ASCII)
_SEPARATOR = frozenset("\"'\\]= \t:")

_PASSWORD_NAMES = ("password", "passwd", "passphrase", "pwd")
_CREDENTIAL_NAMES = ("secret", "token", "key", "credentials")
_SCHEMES = ("bearer", "basic")
_SECRET_KEY_PREFIX = re.compile(
    r"(?:api|app|access|secret|private|auth|signing|encryption|master|account|storage|shared|"
    r"service|session|webhook|deploy|license)[_. -]?$"
)
_NOT_SECRET = re.compile(
    r"(?:next|page|prev|previous|continuation|starting|sync|cursor|resume|change)[_-]?$|:$"
)
_SCHEME = re.compile(r"""authorization\\?["']?[ \t]{0,4}[:=,][ \t]{0,4}[brfu]{0,2}\\?["']?$""")
_LOGIN = re.compile(r"login[ \t]+\S{1,80}[ \t\r\n]+$", re.ASCII)
_ENV_NAME = re.compile(r"(?:^|[\n\t ])(?:export[ ])?[A-Z][A-Z0-9_]*$")
_FLAG = re.compile(r"(?:^|\s)--(?:[\w-]{0,20}[-_])?$", re.ASCII)
_USER_AND_PASSWORD = re.compile(
    r"""://[^\s/:@"'<>`]{0,128}:([^\s/@"'<>`]{3,512})@[\w\[]""", re.ASCII
)
_NAME_CONTEXT = 24
"""Characters before a name that are examined."""
_LOGIN_CONTEXT = 100
_VALUE_SAMPLE = 128
"""Characters of a value that are examined."""


_Find = Callable[[str, str, int, str], Span | None]
"""Takes the text, the text in lower case, the position after a name, and the name."""


def find_assigned_values(text: str, lower: str) -> Iterator[Span]:
    """Yields every value with a secret name that looks like a secret. `lower` is `text.lower()`."""
    for name in _PASSWORD_NAMES:
        yield from _values_after(name, text, lower, _password)
    for name in _CREDENTIAL_NAMES:
        yield from _values_after(name, text, lower, _credential)
    for name in _SCHEMES:
        yield from _values_after(name, text, lower, _authorization)


def find_url_passwords(text: str) -> Iterator[Span]:
    """Yields the password of every URL such as `postgres://me:PASSWORD@host`."""
    position = text.find("://")
    while position >= 0:
        match = _USER_AND_PASSWORD.match(text, position)
        if match and not _is_placeholder(match[1]):
            yield Span(*match.span(1), URL_PASSWORD)
        position = text.find("://", position + 3)


def _values_after(name: str, text: str, lower: str, find: _Find) -> Iterator[Span]:
    last = len(lower)
    position = lower.find(name)
    while position >= 0:
        position += len(name)
        if (
            position < last
            and lower[position] in _SEPARATOR
            and (span := find(text, lower, position, name))
        ):
            end = _REST.match(text, span.end)
            span = Span(span.start, end.end() if end else span.end, span.kind)
            yield span
            position = span.end
        position = lower.find(name, position)


def _password(text: str, lower: str, position: int, name: str) -> Span | None:
    start = position - len(name)
    value = _assigned(text, position)
    if value is None and (
        _FLAG.search(_before(lower, start, _NAME_CONTEXT))
        or _LOGIN.search(_before(lower, start, _LOGIN_CONTEXT))
    ):
        value = _value(_AFTER_FLAG, text, position)
    if value is None or not _looks_typed(_sample(text, value)):
        return None
    return Span(*value, "password")


def _credential(text: str, lower: str, position: int, name: str) -> Span | None:
    before = _before(lower, position - len(name), _NAME_CONTEXT)
    if _NOT_SECRET.search(before) or (name == "key" and not _SECRET_KEY_PREFIX.search(before)):
        return None
    value = _assigned(text, position)
    if value is None and _FLAG.search(before):
        value = _value(_AFTER_FLAG, text, position)
    if value is None or not _is_secret(text, position, _sample(text, value)):
        return None
    return Span(*value, "credential")


def _authorization(text: str, lower: str, position: int, name: str) -> Span | None:
    value = _value(_AFTER_SCHEME, text, position)
    if value is None:
        return None
    named = _SCHEME.search(_before(lower, position - len(name), _NAME_CONTEXT)) is not None
    if named or (name == "bearer" and _looks_random(_sample(text, value))):
        return Span(*value, "credential")
    return None


def _assigned(text: str, position: int) -> tuple[int, int] | None:
    """Returns the span of the assigned value: in an `.env` file all that follows, else a word."""
    whole = _value(_IN_ENV, text, position) if _in_env(text, position) else None
    return whole or _value(_AFTER, text, position)


def _in_env(text: str, position: int) -> bool:
    return (
        text[position] == "="
        and _ENV_NAME.search(text, max(0, position - 80), position) is not None
    )


def _is_secret(text: str, position: int, value: str) -> bool:
    return _looks_random(value) or (_in_env(text, position) and _looks_typed(value))


def _before(lower: str, position: int, size: int) -> str:
    return lower[max(0, position - size) : position]


def _sample(text: str, value: tuple[int, int]) -> str:
    """Returns the beginning of a value, which is enough to judge it."""
    start, end = value
    return text[start : min(end, start + _VALUE_SAMPLE)]


def _value(pattern: re.Pattern[str], text: str, position: int) -> tuple[int, int] | None:
    match = pattern.match(text, position)
    if match is None:
        return None
    return match.span("bare" if match["bare"] else "quoted")


def _is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder or names the source of a secret, such as `$TOKEN`."""
    return _PLACEHOLDER.search(value) is not None


def _looks_random(value: str) -> bool:
    """Whether a machine may have made the value: long, mixed, and no path, name or number."""
    return (
        len(value) >= _RANDOM_LENGTH
        and _mixed(value)
        and not _is_placeholder(value)
        and _PATH_OR_URL.match(value) is None
        and len(_CLASSES.findall(value)) >= _RANDOM_CHANGES * len(value)
        and _bits(value) >= _RANDOM_BITS
    )


def _looks_typed(value: str) -> bool:
    """Whether a person may have chosen the value as a password: long enough, more than a name."""
    return (
        len(value) >= _TYPED_LENGTH
        and _NAME.fullmatch(value) is None
        and not value.isdigit()
        and not _is_placeholder(value)
        and _PATH_OR_URL.match(value) is None
        and any(char.isalnum() for char in value)
    )


def _mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _bits(value: str) -> float:
    size = len(value)
    shares = [value.count(char) / size for char in set(value)]
    return -sum(share * math.log2(share) for share in shares)
