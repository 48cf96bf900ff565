"""Finds secrets that are stated: in a sentence, in a cell of a table, or on the line after a name.

Sentences speak of passwords all the time, so a value must look like one: with a digit, and letters
of both cases or a sign. A value after the name of another secret must look random.
"""

import re
from collections.abc import Iterable, Iterator

from sapwood.redaction.byte_text import Anchored, LazyPattern, Searched, Span
from sapwood.redaction.value_shapes import looks_chosen, looks_random, looks_typed

_PASSWORD = "password"
_LINE_START = r"[ \t]{0,32}(?:\d{1,7}(?:\t|:[ ]?))?[ \t]{0,32}"
_VERB = r"(?:is|was|are|ist|lautet|es|est|to|from|now|=|->|:)"
_SENTENCE = (
    rf"(?:(?:[ ][\w'(!),\x80-\xff-]{{1,20}}+){{0,7}}?:?[ ]{_VERB}[ ](?:now[ ]|set[ ]to[ ])?"
    r"|[ ]?:?\*\*:?[ ]"
    r"|(?:[ ][\w'(!),-]{1,20}+){1,4}:[ ]|[ *`\w]{0,16}+\|[ ]{0,8})"
)
"""Between a name and its value: some words and a verb or a colon, or the border of two cells."""
_NEXT_LINE = (
    r"""\\{0,3}["'`]?\]?[ \t]{0,4}(?P<sign>:=|=>|=|:|,|(?=\r?\n[ \t]{0,16}-[ ]))[ \t]{0,4}"""
    rf"""(?:[>|][+-]?|\\|<<[-~]?\w{{1,16}})?[ \t]{{0,4}}\r?\n{_LINE_START}"""
    rf"""(?:\r?\n{_LINE_START})?(?P<dash>-[ ])?(?P<quote>\\{{0,3}}["'`]?)"""
)
"""Between a name and a value on one of the next two lines."""
_ELEMENT = rf">[ \t]{{0,8}}\r?\n{_LINE_START}"
_ALONE = r"""(?=\\{0,3}["'`]?[,;]?[ ]{0,8}(?:[\t\r\n\]}<]|$))"""
_VALUE = (
    rf"""(?:{_SENTENCE}["'`]?(?P<stated>[^\s\\"'`<>|]{{7,128}})"""
    rf"""|{_NEXT_LINE}(?P<next>[^\s"'`<>|,;(){{}}\\]{{7,128}}){_ALONE}"""
    rf"""|{_ELEMENT}(?P<element>[^\s\\<>]{{7,128}})[ \t]{{0,8}}\r?\n)"""
)
_NAMES = Anchored(
    (anchor, LazyPattern(anchor + rest + _VALUE, re.ASCII))
    for anchor, rest in (("passw", "(?:ord|d|ort)"), ("passphrase", ""), ("pw", "(?<![a-z0-9]pw)"))
)
_FOREIGN = tuple(
    (
        name,
        LazyPattern(rf"""{name}(?:[ ]?:[ ]|{_SENTENCE})["'`]?(?P<stated>[^\s\\"'`]{{7,128}})"""),
    )
    for name in ("kennwort", "senha", "contrase\xc3\xb1a", "mot de passe")
)
_SECRET_NAMES = ("token", "secret", "key")
_KEYS = ("api", "access", "secret", "private", "signing", "encryption", "master", "license")
_AFTER_NAME = LazyPattern(rf"(?:{_SENTENCE}|{_NEXT_LINE})[\"'`]?$", re.ASCII)
_AFTER_NAME_ENDS = (
    *(f" {verb} " for verb in "is was are ist lautet es est to from now = -> :".split()),
    *("now ", "set to ", "* ", ": "),
)
"""How a sentence ends that names a value in one line."""
_USED = tuple(
    f"{verb} {the}{name} "
    for verb in ("use", "using", "with")
    for the in ("", "the ")
    for name in ("token", "api key")
)
_REST_OF_TOKEN = LazyPattern(r"[\w+/=.~-]*+", re.ASCII)
_NAMED_LENGTH = 100
_BEFORE_VALUE = " \t\n|:\\\"'`"
_LINE_BEFORE_VALUE = " \t0123456789:-\\\"'`"
"""What may stand before a value in its line, if the name is in a line before."""
_CELL = 12
"""At least the spaces between the border of a cell and its value, and a quote."""
_SAMPLE = 64
_IDENTIFIER = LazyPattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_AS_PASSWORD = (LazyPattern("as the password"), LazyPattern("as password"))
_BEFORE_AS = LazyPattern(r"""["'`]?([^\s"'`]{7,128})["'`]?[ ]$""", re.ASCII)
_WITH = LazyPattern(r"""password[ ]["'`]?(?P<stated>[^\s\\"'`<>|]{7,128})""", re.ASCII)
_WITH_BEFORE = ("with the ", "with ", "using ", "using the ", "use the ")
_LOGINS = tuple(
    (
        anchor,
        LazyPattern(
            rf"""{anchor}s?(?:(?:[ ]?[:=][ ]?[\w.@+-]{{1,64}})?[ ]?[/:][ ]?"""
            r"""(?P<stated>[^\s\\"'`/:@()\[\]]{7,128})"""
            r"""|\([^"'\n()]{0,24}["'][^"'\n]{1,64}["'],[ ]?["']"""
            r"""(?P<called>[^\s\\"']{6,128})["'])""",
            re.ASCII,
        ),
    )
    for anchor in ("login", "credential", "creds", "auth", "admin", "root")
)
_OTHER_NAMES = Anchored((*_FOREIGN, *_LOGINS))
_DIGITS = "1234567890"
_DIGIT = LazyPattern(f"[{_DIGITS}]")
_PROTOCOLS = Anchored(
    (
        (
            "PASS ",
            LazyPattern(
                r"USER[ ]\S{1,64}\r?\n(?:[^\n]{0,128}\n)?PASS[ ](?P<stated>[^\s\\]{4,128})"
            ),
        ),
        (" LOGIN ", LazyPattern(r"\w{1,8}[ ]LOGIN[ ]\S{1,64}[ ](?P<stated>[^\s\\]{6,128})")),
        (
            "AUTH ",
            LazyPattern(r"AUTH[ ](?:PLAIN[ ]|LOGIN[ ])?(?P<stated>[\w+/=-]{12,256})", re.ASCII),
        ),
    )
)


STATED_ANCHORS = (
    *(*_NAMES.anchors, *_OTHER_NAMES.anchors, *_PROTOCOLS.anchors),
    *("password", *_SECRET_NAMES),
)


def find_stated_secrets(searched: Searched) -> Iterator[Span]:
    """Yields every stated secret. A text without a digit has none."""
    text, lower = searched.text, searched.lower
    if not any(map(text.__contains__, _DIGITS)):
        return
    for name in _NAMES.present(searched.parts, lower):
        yield from _passwords(text, name.finditer(lower))
    for name in _OTHER_NAMES.present(searched.parts, lower):
        yield from _chosen(text, name.finditer(lower))
    for protocol in _PROTOCOLS.present(searched.parts, text):
        yield from _chosen(text, protocol.finditer(text))
    if "pass" in searched.parts and "password" in lower:
        yield from _around_password(text, lower)
    if not searched.parts.isdisjoint(_SECRET_NAMES):
        yield from _random_words(searched)


def _passwords(text: str, found: Iterable[re.Match[str]]) -> Iterator[Span]:
    for match in found:
        group = match.lastgroup or ""
        if group == "stated":
            yield from _chosen(text, (match,))
            continue
        start, end = match.span(group)
        value = text[start:end]
        if looks_typed(value) and (group == "element" or _is_alone(match, value)):
            yield Span(start, end, _PASSWORD)


def _is_alone(match: re.Match[str], value: str) -> bool:
    """Whether the line is a value: not an expression of code, and not another entry of a list."""
    if match["dash"]:
        return looks_chosen(value)
    is_code = match["sign"] in ("=", ":=", ",") and not match["quote"]
    return not (is_code and _IDENTIFIER.fullmatch(value)) and not value.endswith(":")


def _chosen(text: str, found: Iterable[re.Match[str]]) -> Iterator[Span]:
    for match in found:
        start, end = match.span(match.lastgroup or 0)
        value = text[start:end].rstrip(".,;:!?)*")
        if looks_chosen(value) or looks_random(value):
            yield Span(start, start + len(value), _PASSWORD)


def _around_password(text: str, lower: str) -> Iterator[Span]:
    """Yields `use X as the password` and `with the password X`."""
    for phrase in _AS_PASSWORD:
        for match in phrase.finditer(lower):
            first = max(0, match.start() - _NAMED_LENGTH)
            before = _BEFORE_AS.search(text[first : match.start()])
            if before and looks_chosen(before[1]):
                yield Span(first + before.start(1), first + before.end(1), _PASSWORD)
    for match in _WITH.finditer(lower):
        if lower.endswith(_WITH_BEFORE, 0, match.start()):
            yield from _chosen(text, (match,))


def _random_words(searched: Searched) -> Iterator[Span]:
    """Yields long words that look random after a sentence such as `the token is`."""
    text, lower = searched.text, searched.lower
    for start, end in searched.long_words:
        if not start or text[start - 1] not in _BEFORE_VALUE or not _DIGIT.search(text, start, end):
            continue
        before = lower[max(0, start - _NAMED_LENGTH) : start]
        if _is_named(before) and looks_random(text[start : min(end, start + _SAMPLE)]):
            rest = _REST_OF_TOKEN.match(text, end)
            yield Span(start, rest.end() if rest else end, "credential")


def _is_named(before: str) -> bool:
    """Whether the text before a word ends with the name of a secret and a sentence such as `is`."""
    if before.endswith(_USED):
        return True
    may_be = (
        before.rstrip("\"'`").endswith(_AFTER_NAME_ENDS)
        or before.rstrip(_LINE_BEFORE_VALUE)[-1:] == "\n"
        or "|" in before[-_CELL:]
    )
    return may_be and any(_AFTER_NAME.match(before, place) for place in _ends_of_names(before))


def _ends_of_names(before: str) -> Iterator[int]:
    """Where names of secrets end, the last one first."""
    for name in _SECRET_NAMES:
        place = before.rfind(name)
        while place >= 0:
            if name != "key" or _is_secret_key(before, place):
                yield place + len(name)
            place = before.rfind(name, 0, place)


def _is_secret_key(before: str, place: int) -> bool:
    """Whether `key` at this place is part of a name such as `api_key`."""
    end = place - 1 if place and before[place - 1] in " _-" else place
    return before.endswith(_KEYS, 0, end)
