"""Finds secrets by the place where they stand: in URLs, cookies, options and password files."""

import re
from collections.abc import Iterator

from sapwood.redaction.byte_text import Anchored, LazyPattern, Searched, Span
from sapwood.redaction.value_shapes import (
    is_placeholder,
    looks_chosen,
    looks_random,
    looks_typed,
)

URL_PASSWORD = "url-password"
_COOKIE = "cookie"
_HASH = "password-hash"
_PASSWORD = "password"
_PHRASE = "wallet-phrase"
PLACE_KINDS = frozenset({URL_PASSWORD, _COOKIE, _HASH, _PASSWORD, _PHRASE})

_URL_LOGIN = LazyPattern(
    r"""://(?:(?P<user>[^\s/:@"'<>`]{0,128}):(?P<password>[^\s/@"'<>`]{3,512})"""
    r"""|(?P<token>[^\s/:@"'<>`]{16,255}))@[\w\[]""",
    re.ASCII,
)
_SPACED_LOGIN = LazyPattern(
    r"""://[^\s/:@"'<>`]{0,128}:(?P<password>[^\s/@"'<>`]{2,100}[ ][^/@"'<>`\n]{1,100})@[\w\[]"""
)
_QUOTED_SCHEME = LazyPattern(r"""["'`][A-Za-z][\w+.-]{1,20}$""", re.ASCII)
_COOKIES = LazyPattern(
    r"""cookies?2?\\{0,3}["']?"""
    r"""(?:[ \t]{0,4}[:=]|[ \t]|,\s{0,8}\\{0,3}["']value\\{0,3}["'][ ]?:)"""
    r"""[ \t]{0,4}[brfu]{0,2}\\{0,3}["'`]?"""
    r"""(?=[\w.%-]{1,64}=[^\s;])""",
    re.ASCII,
)
_COOKIE_OPTION = LazyPattern(r""" -\w{0,4}b[ ]?["']?(?=[\w.%-]{1,64}=[^\s;]{6})""", re.ASCII)
_COOKIE_VALUE = LazyPattern(r"""[\w.%-]{1,64}=([^\s;"'`\\]{6,4096}+)""", re.ASCII)
_COOKIE_END = LazyPattern(r"""[\n"'`]""")
_COOKIES_LENGTH = 8_192
_COOKIE_PLAIN = LazyPattern(r"(?:strict|lax|none|true|false|[a-z]{2}[-_][a-z]{2}|\d{1,9})$", re.I)
_USER_OPTION = LazyPattern(
    r"""-u(?:ser)?[ =]{0,2}["']?[^\s:"'/=]{1,64}:(?P<value>[^\s"'`:/]{3,128})""",
    re.ASCII,
)
_USER_IN_CLUSTER = LazyPattern(
    r"""[ ]-[sSfkLiv]{1,5}u[ ]["']?[^\s:"'/=]{1,64}:(?P<value>[^\s"'`:/]{3,128})""", re.ASCII
)
_WEB_PROGRAMS = ("curl ", "wget ", "http ", "https ", "xh ")
_LONG_CONTEXT = 300
_SEVERAL_WORDS = r"""=["']([^\s"'$]{1,40}[ ][^"'$\n]{3,80})["']"""
_LINES = Anchored(
    (anchor, (kind, line))
    for kind, anchor, line in (
        # Lines of /etc/shadow and .htpasswd: the hash of a password after its scheme.
        (
            _HASH,
            "$",
            LazyPattern(
                r"\$(?:[1567y]|2[abxy]|apr1|gy|sha1|argon2[id]{1,2}|scrypt|pbkdf2[\w-]{0,10})"
                r"\$([./A-Za-z0-9$,=+_-]{20,256})",
                re.ASCII,
            ),
        ),
        (_HASH, "SHA", LazyPattern(r"\{S?SHA\d{0,3}\}([A-Za-z0-9+/=]{20,128})")),
        (
            _HASH,
            "$",
            LazyPattern(r"pbkdf2_sha\d{1,3}\$\d{1,8}\$([./A-Za-z0-9$=+_-]{20,256})", re.ASCII),
        ),
        (
            _HASH,
            "$",
            LazyPattern(r"SCRAM-SHA-\d{1,3}\$\d{1,8}:([A-Za-z0-9+/=$:]{40,256})", re.ASCII),
        ),
        (_HASH, ":::", LazyPattern(r":\d{3,6}:([0-9a-fA-F]{32}:[0-9a-fA-F]{32}):", re.ASCII)),
        # A line of .pgpass: host, port, database, user, password.
        (_PASSWORD, "private-key", LazyPattern(r"private-key[ \t]{1,4}([A-Za-z0-9+/]{43}=)")),
        (
            _PASSWORD,
            " login ",
            LazyPattern(
                r" login (?:(?<=wandb login )|(?<=netlify login )|(?<=snyk login ))"
                r"([0-9a-f-]{32,64})\b"
            ),
        ),
        (
            _PASSWORD,
            "otpauth://",
            LazyPattern(r"""otpauth://[^\s"'<>]{0,200}[?&]secret=([A-Za-z2-7]{16,128})"""),
        ),
        (_PASSWORD, 'psk="', LazyPattern(r'psk="([^"\n$]{8,63})"')),
        (
            _PASSWORD,
            "asicAuth",
            LazyPattern(
                r"""asicAuth\w{0,14}\(["'][^"'\n]{1,64}["'], ?["']([^"'\n]{6,128})["']\)"""
            ),
        ),
        (
            _PASSWORD,
            "AC",
            LazyPattern(r"""AC[0-9a-f]{32}["'], ?["']([0-9a-f]{32})["']""", re.ASCII),
        ),
        (_PASSWORD, "vault login", LazyPattern(r"vault login ([\w.-]{20,128})\b", re.ASCII)),
        (_PASSWORD, "master.key", LazyPattern(r"master\.key\r?\n([0-9a-f]{32})\b")),
        # A text of several words after a name in capital letters.
        (_PASSWORD, "PASS", LazyPattern(r"PASS(?:WORD|WD|PHRASE)?" + _SEVERAL_WORDS)),
        (_PASSWORD, "SECRET=", LazyPattern("SECRET" + _SEVERAL_WORDS)),
        (_PASSWORD, ":5432:", LazyPattern(r":5432:[^\s:]{1,63}:[^\s:]{1,63}:([^\s:\"']{6,128})")),
        (_PASSWORD, ":*:", LazyPattern(r":\*:[^\s:]{1,63}:[^\s:]{1,63}:([^\s:\"']{6,128})")),
        (
            _PASSWORD,
            "@tcp(",
            LazyPattern(r"(?<![\w/:])[\w.-]{1,64}:([^\s:@/]{4,64})@tcp\(", re.ASCII),
        ),
        (
            _PASSWORD,
            "auth=(",
            LazyPattern(r"""auth=\(["'][^"'\n]{1,64}["'], ?["']([^"'\n]{6,128})["']\)"""),
        ),
    )
)
_WORDS = r"""\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}["']?((?:[a-z]{3,8} ){11,23}[a-z]{3,8})"""
_PHRASES = Anchored((anchor, LazyPattern(anchor + _WORDS)) for anchor in ("mnemonic", "phrase"))


_TABLE = LazyPattern(
    r"^[ \t]*\|(?P<head>[^\n]{3,300})\|[ \t]*\r?\n[ \t]*\|[ :|-]{3,300}\|[ \t]*\r?\n", re.MULTILINE
)
_TABLE_ROW = LazyPattern(r"[ \t]*\|([^\n]{3,400})\|[ \t]*(?:\r?\n|$)")
_CELL = LazyPattern(r"[^|]*")
_SECRET_COLUMNS = frozenset(
    ("password", "passwort", "passphrase", "secret", "token", "api key", "key", "credential")
)
_PARTS_OF_COLUMNS = ("pass", "secret", "token", "key", "cred")
"""Each of these columns has one of them."""
PLACE_ANCHORS = (*_LINES.anchors, *_PHRASES.anchors, "://", "cookie", "curl", "-u")


def find_placed_secrets(searched: Searched) -> Iterator[Span]:
    """Yields every secret that is known by its place."""
    text, lower = searched.text, searched.lower
    if "@" in searched.parts and "://" in searched.parts:
        yield from _url_logins(text)
    yield from _cookies(searched)
    yield from _user_options(text)
    has_column = "|" in text and not searched.parts.isdisjoint(_PARTS_OF_COLUMNS)
    if has_column and any(f"| {column} |" in lower for column in _SECRET_COLUMNS):
        yield from _table_cells(text)
    for kind, line in _LINES.present(searched.parts, text):
        yield from (Span(*m.span(1), kind) for m in line.finditer(text) if not is_placeholder(m[1]))
    for phrase in _PHRASES.present(searched.parts, lower):
        yield from (Span(*match.span(1), _PHRASE) for match in phrase.finditer(lower))


def _url_logins(text: str) -> Iterator[Span]:
    """Yields the password of URLs such as `postgres://me:PASSWORD@host` and `https://TOKEN@host`."""
    for match in _SPACED_LOGIN.finditer(text):
        if _QUOTED_SCHEME.search(text[max(0, match.start() - 22) : match.start()]):
            yield Span(*match.span("password"), URL_PASSWORD)
    for match in _URL_LOGIN.finditer(text):
        if match["token"] is not None:
            if looks_random(match["token"]):
                yield Span(*match.span("token"), URL_PASSWORD)
        elif not is_placeholder(match["password"]):
            yield Span(*match.span("password"), URL_PASSWORD)
            if len(match["user"]) > 15 and looks_random(match["user"]):
                yield Span(*match.span("user"), URL_PASSWORD)


def _cookies(searched: Searched) -> Iterator[Span]:
    """Yields the values of the cookies of a header or an option."""
    text = searched.text
    if "cookie" in searched.parts:
        yield from _cookie_values(text, _COOKIES.finditer(searched.lower))
    if "curl" in searched.parts and "curl" in text:
        options = (m for m in _COOKIE_OPTION.finditer(text) if _is_web(text, m.start()))
        yield from _cookie_values(text, options)


def _cookie_values(text: str, found: Iterator[re.Match[str]]) -> Iterator[Span]:
    done = 0
    for match in found:
        if match.start() < done:
            continue
        stop = _COOKIE_END.search(text, match.end(), match.end() + _COOKIES_LENGTH)
        done = stop.start() if stop else min(len(text), match.end() + _COOKIES_LENGTH)
        for cookie in _COOKIE_VALUE.finditer(text, match.end(), done):
            if _is_cookie_secret(cookie[1]):
                yield Span(*cookie.span(1), _COOKIE)


def _is_cookie_secret(value: str) -> bool:
    return not _COOKIE_PLAIN.match(value) and (looks_random(value) or looks_typed(value))


def _user_options(text: str) -> Iterator[Span]:
    """Yields passwords such as in `curl -u me:PASSWORD`."""
    found = _USER_OPTION.finditer(text)
    clusters = _USER_IN_CLUSTER.finditer(text) if "curl" in text else ()
    for match in (*found, *clusters):
        value = match["value"]
        if looks_typed(value) or (
            not value.isdigit() and not is_placeholder(value) and _is_web(text, match.start())
        ):
            yield Span(*match.span("value"), _PASSWORD)


def _table_cells(text: str) -> Iterator[Span]:
    """Yields the cells below a head such as `Password`, in tables of Markdown."""
    for table in _TABLE.finditer(text):
        heads = [head.strip(" \t*`").lower() for head in table["head"].split("|")]
        columns = [place for place, head in enumerate(heads) if head in _SECRET_COLUMNS]
        row = _TABLE_ROW.match(text, table.end()) if columns else None
        while row:
            cells = [cell.span() for cell in _CELL.finditer(text, *row.span(1)) if cell[0]]
            for start, end in (cells[column] for column in columns if column < len(cells)):
                value = text[start:end].strip(" \t*`")
                if looks_chosen(value) or looks_random(value):
                    first = text.index(value, start)
                    yield Span(first, first + len(value), _PASSWORD)
            row = _TABLE_ROW.match(text, row.end())


def _is_web(text: str, position: int) -> bool:
    """Whether a program for the web is named before the position, in the same line."""
    before = text[max(0, position - _LONG_CONTEXT) : position + 1].rpartition("\n")[2]
    return any(map(before.__contains__, _WEB_PROGRAMS))
