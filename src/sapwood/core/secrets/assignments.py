"""Values that a telling name stands before: `password=…`, `"api_key": "…"`, `--token …`.

A name tells nothing about the value, and code is full of such names, so the value has to look
like a secret too: chosen by a machine, or, after a name for a password and in lines as of an
`.env` file, by a person.
"""

import re
from collections.abc import Callable, Iterator

from sapwood.core.secrets.span import Span
from sapwood.core.secrets.values import looks_random, looks_typed

__all__ = ["KINDS", "assignments"]

KINDS = frozenset({"credential", "password"})

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

_PASSWORD = ("password", "passwd", "passphrase", "pwd")
_CREDENTIAL = ("secret", "token", "key", "credentials")
_SCHEMES = ("bearer", "basic")
_WHICH_KEY = re.compile(
    r"(?:api|app|access|secret|private|auth|signing|encryption|master|account|storage|shared|"
    r"service|session|webhook|deploy|license)[_. -]?$"
)
_NO_SECRET = re.compile(
    r"(?:next|page|prev|previous|continuation|starting|sync|cursor|resume|change)[_-]?$|:$"
)
_SCHEME = re.compile(r"""authorization\\?["']?[ \t]{0,4}[:=,][ \t]{0,4}[brfu]{0,2}\\?["']?$""")
_LOGIN = re.compile(r"login[ \t]+\S{1,80}[ \t\r\n]+$", re.ASCII)
_ENV_NAME = re.compile(r"(?:^|[\n\t ])(?:export[ ])?[A-Z][A-Z0-9_]*$")
_FLAG = re.compile(r"(?:^|\s)--(?:[\w-]{0,20}[-_])?$", re.ASCII)
_NEAR = 24
_FAR = 100
_ENOUGH = 128


def assignments(text: str, lower: str) -> Iterator[Span]:
    """Every value that a name says is secret and that looks it. `lower` is in small letters."""
    for name in _PASSWORD:
        yield from _after_each(name, text, lower, _password)
    for name in _CREDENTIAL:
        yield from _after_each(name, text, lower, _credential)
    for name in _SCHEMES:
        yield from _after_each(name, text, lower, _authorization)


_Find = Callable[[str, str, int, str], Span | None]
"""From the text, the same lowered, where a name ends in it, and the name."""


def _after_each(name: str, text: str, lower: str, find: _Find) -> Iterator[Span]:
    last = len(lower)
    place = lower.find(name)
    while place >= 0:
        place += len(name)
        if place < last and lower[place] in _SEPARATOR and (span := find(text, lower, place, name)):
            end = _REST.match(text, span.end)
            span = Span(span.start, end.end() if end else span.end, span.kind)
            yield span
            place = span.end
        place = lower.find(name, place)


def _password(text: str, lower: str, place: int, name: str) -> Span | None:
    start = place - len(name)
    value = _given(text, place)
    if value is None and (
        _FLAG.search(_before(lower, start, _NEAR)) or _LOGIN.search(_before(lower, start, _FAR))
    ):
        value = _value(_AFTER_FLAG, text, place)
    if value is None or not looks_typed(_shown(text, value)):
        return None
    return Span(*value, "password")


def _credential(text: str, lower: str, place: int, name: str) -> Span | None:
    before = _before(lower, place - len(name), _NEAR)
    if _NO_SECRET.search(before) or (name == "key" and not _WHICH_KEY.search(before)):
        return None
    value = _given(text, place)
    if value is None and _FLAG.search(before):
        value = _value(_AFTER_FLAG, text, place)
    if value is None or not _is_secret(text, place, _shown(text, value)):
        return None
    return Span(*value, "credential")


def _authorization(text: str, lower: str, place: int, name: str) -> Span | None:
    value = _value(_AFTER_SCHEME, text, place)
    if value is None:
        return None
    named = _SCHEME.search(_before(lower, place - len(name), _NEAR)) is not None
    if named or (name == "bearer" and looks_random(_shown(text, value))):
        return Span(*value, "credential")
    return None


def _given(text: str, place: int) -> tuple[int, int] | None:
    """The value that is given to the name: in an `.env` file whatever follows, else a word."""
    whole = _value(_IN_ENV, text, place) if _in_env(text, place) else None
    return whole or _value(_AFTER, text, place)


def _in_env(text: str, place: int) -> bool:
    return text[place] == "=" and _ENV_NAME.search(text, max(0, place - 80), place) is not None


def _is_secret(text: str, place: int, value: str) -> bool:
    return looks_random(value) or (_in_env(text, place) and looks_typed(value))


def _before(lower: str, place: int, size: int) -> str:
    return lower[max(0, place - size) : place]


def _shown(text: str, value: tuple[int, int]) -> str:
    """Enough of a value to judge it by."""
    start, end = value
    return text[start : min(end, start + _ENOUGH)]


def _value(pattern: re.Pattern[str], text: str, place: int) -> tuple[int, int] | None:
    match = pattern.match(text, place)
    if match is None:
        return None
    return match.span("bare" if match["bare"] else "quoted")
