"""Finds values after a name such as `password=…`, `"api_key": "…"` and `--token …`.

Code is full of such names, so the value must look like a secret too: random, as a machine makes
it, or, after a password name and in lines of an `.env` file, as a person chooses a password.

Each name has one pattern that begins with a plain text, which is searched for fast. A pattern looks
at a bounded part of the text after the name, so the time grows with the length of the text only.
"""

import re
import string
from collections.abc import Callable, Iterator
from functools import cache

from msgspec import Struct

from sapwood.redaction.byte_text import Anchored, LazyPattern, Searched, Span
from sapwood.redaction.value_shapes import (
    is_placeholder,
    looks_random,
    looks_scrambled,
    looks_typed,
)

ASSIGNED_KINDS = frozenset({"credential", "password"})

_QUOTED = r"""(?:[brfu]{0,2}|\[\]byte\()\\{0,3}["'`](?P<quoted>[^\s"'`\\]{6,128})"""
_BARE = r"""(?P<bare>[^\s"'`\\,;&|<>(){}\[\]]{6,128}+)(?![(\[{])"""
_ENV = r"""(?P<env>[^\s"'`\\]{6,128})"""
_ELEMENT = r">(?P<element>[^\s<>]{6,128})<"
_FALLBACK = r"""=[ ]{0,2}[a-z_][\w.\[\]()]{0,40}[ ]{1,2}(?:\|\||\?\?|or)(?=[ ]{1,2}["'`])"""
_DECLARED_TYPE = r"""[ ]as[ ][a-z]{3,12}[ ]{0,2}="""
_TYPED = (
    r""":[ ]{0,2}(?:&(?:'static[ ])?)?[a-z][\w.|\[\]]{0,30}(?:[ ]\|[ ]\w{1,30})?"""
    r"""(?:[ ]{1,2}=(?!=)|=(?=["'brf]))"""
)
_FIELD = r"""\\{0,3}["']?,?\s{1,40}\\{0,3}["']?value\\{0,3}["']?[ ]{0,2}[:=]"""
_ASSIGN = (
    r"""\\{0,3}["'`]?\]?[ \t]{0,8}"""
    r"""(?:(?<=[ ])[\[(][^\[\]()\n]{1,40}[\])])?"""
    rf"""(?:{_TYPED}|{_FALLBACK}|{_DECLARED_TYPE}|=>|->|:=|\?=|\|\|=|==?|:|\((?=\\{{0,3}}["'])"""
    rf"""|,(?=[ ]?\\{{0,3}}["'])|{_FIELD})[ \t]{{0,8}}"""
)
_SUFFIX = r"(?:[_.-][a-z0-9_.-]{1,24}|\d{1,3})?"
_VALUE = (
    rf"(?:(?P<sign>{_ASSIGN}|(?P<space>[ \t]{{1,4}}))(?=(?:{_QUOTED}|{_BARE}|{_ENV}))"
    rf"|(?={_ELEMENT}))"
)
_MAX_MATCHED = 128
"""The most characters of a value that the patterns match; `_REST` matches the others."""
_REST = {
    "quoted": LazyPattern(r"""[^\s"'`\\]*+"""),
    "bare": LazyPattern(r"""[^\s"'`\\,;&|<>(){}\[\]]*+"""),
    "env": LazyPattern(r"""(?:[^\s"'`\\]++|\\(?![nrt]))*"""),
    "element": LazyPattern(r"[^\s<>]*+"),
}
_NOT_THE_VALUE = frozenset(
    "id ids name names file files path url uri type types size len length count counts limit "
    "prefix policy version alias arn ref field fields param params label hint regex pattern expiry "
    "expires expiration ttl at info status usage budget mode class env dir folder column index "
    "header algorithm kind source provider manager store text form word words".split()
)
"""Last parts of names that tell something about a secret, such as `token_count`."""
_LAST_PART = LazyPattern(r"[_.-]")
_NOT_SECRET = tuple(
    "next page prev previous continuation starting sync cursor resume change hashed".split()
)
_SECRET_KEY_NAMES = (
    "api app application access secret private auth signing encryption encrypt master account "
    "storage shared preshared service session webhook deploy license client consumer subscription "
    "jwt hmac aes admin server function functions host integration ingest bot user write read site "
    "team org project rest"
)
"""What stands before `key` in the names of secret keys."""
_SECRET_KEY = {
    name[-2:]: tuple(each for each in _SECRET_KEY_NAMES.split() if each[-2:] == name[-2:])
    for name in _SECRET_KEY_NAMES.split()
}
"""The same by their last two letters, because one look-up is faster than 50 comparisons."""
_PW_OWNER = ("bind", "root", "user", "admin", "db", "my", "smtp", "mail", "_", "-")
_FLAG = LazyPattern(r"(?:^|\s)(?:--?(?:[\w-]{0,20}[-_])?(?:api|auth|access)?|add-auth)$", re.ASCII)
_KEY_HEADER = LazyPattern(r"(?:^|[\s\"'])x-[a-z-]{2,20}$", re.ASCII)
_LOGIN = LazyPattern(r"login[ \t]{1,8}\S{1,80}[ \t\r\n]{1,8}$", re.ASCII)
_DECLARED = LazyPattern(
    r"(?:^|[\s(])(?:env|arg|setx|setq|set(?:[ ]-[a-z]{1,3})?)[ \t]{1,4}"
    r"(?:[\w-]{0,40}|[\w./-]{1,64}:_(?:auth)?)$",
    re.ASCII,
)
_CONTEXT = 24
"""Characters before a name that are examined."""
_LOGIN_CONTEXT = 100
_ENV_CHARACTERS = string.ascii_uppercase + string.digits + "_"
_ENV_NAME_LENGTH = 64


class _Place(Struct, gc=False):
    """A name and the value after it.

    `lower` is the searched text in lower case, `start` where the name starts, `name` the name,
    `group` the form of the value, and `in_env` whether the name is written as in an `.env` file.
    `typed` says of values of the same text whether they look like a password.
    """

    lower: str
    start: int
    name: str
    value: str
    group: str
    is_spaced: bool
    in_env: bool
    typed: dict[str, bool]

    def looks_typed(self) -> bool:
        """Whether the value looks like a password. A text often has the same value many times."""
        known = self.typed.get(self.value)
        if known is None:
            known = self.typed[self.value] = looks_typed(self.value)
        return known

    def before(self, size: int = _CONTEXT) -> str:
        """Returns some characters before the name."""
        first = self.start - size
        return self.lower[first if first > 0 else 0 : self.start]


def find_assigned_values(searched: Searched) -> list[Span]:
    """Returns every value with a secret name that looks like a secret."""
    found = list(_authorizations(searched))
    for kind, pattern, accepts in _NAMES.present(searched.parts, searched.lower):
        found += _values_after(searched, kind, _compiled(pattern), accepts)
    return found


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern of a name. Few of the names are in a text, and compiling all takes long."""
    return re.compile(pattern, re.ASCII)


def _values_after(
    searched: Searched, kind: str, pattern: re.Pattern[str], accepts: "_Accepts"
) -> Iterator[Span]:
    text, lower, stop = searched.text, searched.lower, searched.stop
    typed: dict[str, bool] = {}
    done = 0
    sign_group, space_group = pattern.groupindex["sign"], pattern.groupindex["space"]
    for match in pattern.finditer(lower):
        begin, after_sign = match.span()
        if begin < done:
            continue
        if begin >= stop:
            break
        group = match.lastgroup or ""
        start, end = match.span(match.lastindex or 0)
        sign = match.start(sign_group) if group != "element" else after_sign
        in_env = lower[sign] == "=" and text[sign - 1].isupper() and _is_env_name(text, sign)
        if group == "env" and not in_env:
            continue
        is_spaced = lower[sign] in " \t" and match.start(space_group) >= 0
        name, value = lower[begin:sign], text[start:end]
        if accepts(_Place(lower, begin, name, value, group, is_spaced, in_env, typed)):
            done = end
            if in_env or end - start >= _MAX_MATCHED:
                rest = _REST["env" if in_env and group == "bare" else group].match(text, end)
                done = rest.end() if rest else end
            yield Span(start, done, kind)


def _is_env_name(text: str, end: int) -> bool:
    """Whether a name in capital letters ends here, such as `DB_PASSWORD`."""
    before = text[max(0, end - _ENV_NAME_LENGTH) : end]
    rest = before.rstrip(_ENV_CHARACTERS)
    name = before[len(rest) :]
    return len(name) > 1 and not name[0].isdigit() and not rest[-1:].isalnum()


def _is_password(place: _Place) -> bool:
    if place.name == "pass" and place.before(1).isalpha() and not place.in_env:
        return False
    if not place.name.startswith(("pass", "pwd")) and not place.before().endswith(_PW_OWNER):
        return False
    if place.is_spaced and not (
        _is_argument(place) or (place.group == "quoted" and place.name != "pass")
    ):
        return False
    return _is_typed(place)


def _is_typed(place: _Place) -> bool:
    if _is_about(place.name):
        return False
    if place.before(1) in ("&", "?") and looks_scrambled(place.value):
        return True  # a field of a form
    return place.looks_typed() or (
        place.in_env
        and len(place.value) >= _ENV_VALUE_LENGTH
        and not is_placeholder(place.value)
        and place.value.isalnum()
        and not place.value.isdigit()
        and not place.value.isupper()
    )


_ENV_VALUE_LENGTH = 8


def _is_stated_password(place: _Place) -> bool:
    return not place.before(1).isalnum() and place.looks_typed()


def _is_credential(place: _Place) -> bool:
    if place.is_spaced and not _is_argument(place):
        return False
    before = place.before()
    if before[-1:] == ":" or before.rstrip("_-").endswith(_NOT_SECRET) or _is_about(place.name):
        return False
    return _is_secret_value(place)


def _is_secret_value(place: _Place) -> bool:
    return looks_random(place.value) or (
        place.in_env and (place.looks_typed() or looks_scrambled(place.value))
    )


def _is_key(place: _Place) -> bool:
    if not _is_secret_value(place):
        return False
    before = place.before().rstrip("_. -")
    if before.endswith(_SECRET_KEY.get(before[-2:], ("?", "&"))):
        return not _is_about(place.name) and (not place.is_spaced or _is_argument(place))
    if place.in_env or _KEY_HEADER.search(before):
        return not _is_about(place.name) and looks_random(place.value)
    return False


def _is_about(name: str) -> bool:
    """Whether the name is that of a fact about a secret, such as `token_count`."""
    return not name.isalpha() and _LAST_PART.split(name)[-1] in _NOT_THE_VALUE


def _is_auth(place: _Place) -> bool:
    if place.before(1).isalpha() or not looks_random(place.value):
        return False
    if not place.is_spaced:
        return True
    return place.group == "quoted" and bool(_KEY_HEADER.search(place.before().rstrip("-")))


def _is_signature(place: _Place) -> bool:
    before = place.before(1)
    return not before.isalpha() and not place.is_spaced and looks_random(place.value)


def _is_argument(place: _Place) -> bool:
    """Whether the value follows a space as in `--password VALUE` or `login ME password VALUE`."""
    before = place.before(_LOGIN_CONTEXT)
    flag = before[-_CONTEXT:]
    # The patterns are slow to find out that they do not fit.
    return (
        ("-" in flag and _FLAG.search(flag) is not None)
        or ("login" in before and _LOGIN.search(before) is not None)
        or (
            ("set" in before or "env" in before or "arg" in before)
            and _DECLARED.search(before) is not None
        )
    )


_Accepts = Callable[[_Place], bool]
_NAMES: Anchored[tuple[str, str, _Accepts]] = Anchored(
    (anchor, (kind, anchor + name + _VALUE, accepts))
    for kind, anchor, name, accepts in (
        ("password", "pass", rf"(?:words?|wd|phrase|code|wort)?{_SUFFIX}", _is_password),
        ("password", "pw", rf"d?{_SUFFIX}", _is_password),
        ("password", "identified by", "", _is_stated_password),
        ("password", "requirepass", "", _is_stated_password),
        ("password", "psk", "", _is_stated_password),
        ("password", "convertto-securestring", "", _is_stated_password),
        ("credential", "secret", rf"s?{_SUFFIX}", _is_credential),
        ("credential", "token", rf"{_SUFFIX}", _is_credential),
        ("credential", "key", rf"(?<=[a-z0-9_.?& -]key){_SUFFIX}", _is_key),
        ("credential", "unseal key", r"(?:[ _]\d{1,2})?", _is_credential),
        ("credential", "recovery key", r"(?:[ _]\d{1,2})?", _is_credential),
        ("credential", "recovery code", "s?", _is_credential),
        ("credential", "backup code", "s?", _is_credential),
        ("credential", "cred", r"(?:ential)?s?", _is_credential),
        ("credential", "auth", r"(?:key|code)?", _is_auth),
        ("credential", "appid", "", _is_signature),
        ("credential", "sig", r"(?:nature)?", _is_signature),
    )
)

_AUTHORIZATION = LazyPattern(
    r"""authorization\\{0,3}["']?[ \t]{0,4}"""
    r"""(?:,\s{0,8}\\{0,3}["']value\\{0,3}["'][ ]?:|[:=]|,(?=[ ]?["']))[ \t]{0,4}"""
    r"""[brfu]{0,2}\\{0,3}["'`]?"""
    r"""(?:(?P<scheme>[a-z][\w-]{2,20})[ \t]{1,4})?(?=(?P<value>[\w.~+/=:%-]{8,128}))""",
    re.ASCII,
)
_BEARER = LazyPattern(r"bearer[ \t]{1,4}(?=(?P<value>[\w.~+/=:-]{12,128}))", re.ASCII)
_HEADERS = Anchored((("authorization", _AUTHORIZATION), ("bearer", _BEARER)))
ASSIGNED_ANCHORS = (*_NAMES.anchors, *_HEADERS.anchors)
_REST_OF_HEADER = LazyPattern(r"[\w.~+/=:%-]*+", re.ASCII)


def _authorizations(searched: Searched) -> Iterator[Span]:
    """Yields the values of `Authorization: …` headers and of `Bearer …`."""
    for pattern in _HEADERS.present(searched.parts, searched.lower):
        done = 0
        for match in pattern.finditer(searched.lower):
            start, end = match.span("value")
            value = searched.text[start:end]
            stated = pattern is _AUTHORIZATION and match["scheme"] and not is_placeholder(value)
            if start >= done and (stated or looks_random(value)):
                rest = _REST_OF_HEADER.match(searched.text, end)
                done = rest.end() if rest else end
                yield Span(start, done, "credential")
