"""Finds tokens of a known form, in a time that grows with the length of the text only.

Finds tokens that are broken over lines or written as several strings in code.

Finds words that are a secret in base64 or hex, by how the encoded form begins.
"""

import re
from base64 import b64encode
from binascii import Error, a2b_base64, unhexlify
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate

from sapwood.redaction.byte_text import LazyPattern, Searched, Span
from sapwood.redaction.token_forms import FORMS, VAGUE_FORMS
from sapwood.redaction.value_shapes import looks_random

_Form = tuple[str, str, str]

_OTHER_KINDS = (
    "asana-token",
    "azure-secret",
    "bot-webhook",
    "discord-token",
    "jwt",
    "mailchimp-key",
    "maxmind-key",
    "slack-webhook",
    "telegram-token",
    "terraform-token",
)
TOKEN_KINDS = frozenset(kind for kind, _, _ in (*FORMS, *VAGUE_FORMS)) | {*_OTHER_KINDS}

_WORD_START = r"(?<![A-Za-z0-9])"


def _alternatives(forms: Iterable[_Form], *, whole: bool) -> str:
    """Returns a pattern of all forms, grouped by first character, so that few are tried."""
    grouped: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for _, prefixes, rest in forms:
        for prefix in prefixes.split():
            grouped[prefix[0]].append((prefix[1:], rest if whole else _head(rest)))
    groups: list[str] = []
    for first, each in sorted(grouped.items()):
        each.sort(key=lambda pair: -len(pair[0]))
        inner = "|".join(re.escape(prefix) + rest for prefix, rest in each)
        groups.append(f"{re.escape(first)}(?:{inner})")
    return f"(?:{'|'.join(groups)})"


def _head(rest: str) -> str:
    """The first characters of the rest, so that no ordinary word is taken for a prefix.

    A class with other characters than those of words gives none: a text is cut at these.
    """
    found = _WORD_CLASS.match(rest)
    return f"(?={found[1]}{{{min(int(found[2]), _HEAD)}}})" if found else ""


_HEAD = 12
_WORD_CLASS = LazyPattern(r"(\[[\w\\-]+\]|\\[wd])\{(\d+)")
_ALL = (*FORMS, *VAGUE_FORMS)
_BEFORE_PREFIX = LazyPattern(rf"[^A-Za-z0-9](?={_alternatives(_ALL, whole=False)})", re.ASCII)
"""A character before a prefix. `re` finds a pattern fast that begins with a class of characters."""
_KINDS = {prefix: kind for kind, prefixes, _ in reversed(_ALL) for prefix in prefixes.split()}
_PREFIX_SIZES = sorted({len(prefix) for prefix in _KINDS}, reverse=True)
_VAGUE = frozenset(prefix for _, prefixes, _ in VAGUE_FORMS for prefix in prefixes.split())


@cache
def _token() -> re.Pattern[str]:
    """The pattern of every token. Compiling it takes longer than a whole search, and most texts
    have no prefix of a token.
    """
    return re.compile(_WORD_START + _alternatives(_ALL, whole=True), re.ASCII)


_PREFIX_LENGTH = 24
"""At least the length of the longest prefix before a long word."""
_SAMPLE = 128
"""Characters of a token that are judged."""

# Tokens with a fixed text in the middle: this text, a pattern that begins with it, and one for the
# characters before it. A pattern that begins with a plain text is searched for fast.
_MIDDLES = (
    (
        "telegram-token",
        ":AA",
        LazyPattern(r":AA(?<=\d{8}:AA)[\w-]{33}(?![\w-])", re.ASCII),
        LazyPattern(r"\d{8,10}$", re.ASCII),
    ),
    (
        "terraform-token",
        ".atlasv1.",
        LazyPattern(r"\.atlasv1\.[\w-]{60,}+", re.ASCII),
        LazyPattern(r"[A-Za-z0-9]{14}$"),
    ),
    (
        "azure-secret",
        "Q~",
        LazyPattern(r"Q~(?<=[\w~.-]{3}\dQ~)[\w~.-]{31,34}(?![\w~.-])", re.ASCII),
        LazyPattern(r"[\w~.-]{3}\d$", re.ASCII),
    ),
    (
        "mailchimp-key",
        "-us",
        LazyPattern(r"-us(?<=[0-9a-f]{32}-us)\d{1,2}(?!\w)", re.ASCII),
        LazyPattern(r"[0-9a-f]{32}$"),
    ),
    (
        "maxmind-key",
        "_mmk",
        LazyPattern(r"_mmk(?<=\w{6}_\w{29}_mmk)(?!\w)", re.ASCII),
        LazyPattern(r"\w{36}$", re.ASCII),
    ),
    (
        "asana-token",
        ":",
        LazyPattern(r":(?<=\d{12}:)[0-9a-f]{32}(?!\w)", re.ASCII),
        LazyPattern(r"[012]/\d{12,20}(?:/\d{12,20})?$", re.ASCII),
    ),
    (
        "discord-token",
        ".",
        LazyPattern(r"\.[\w-]{6}\.[\w-]{27,40}(?![\w-])", re.ASCII),
        LazyPattern(r"(?<![A-Za-z0-9])[MNO][\w-]{23,27}$", re.ASCII),
    ),
)
_BEFORE_MIDDLE = 48
# The addresses of webhooks. Every anchor contains `hook`, which is looked for first.
_WEBHOOKS = (
    (
        "slack-webhook",
        "hooks.slack.com/",
        LazyPattern(
            r"hooks\.slack\.com/(?:services|workflows|triggers)/\w{2,24}/[\w/-]{16,128}", re.ASCII
        ),
    ),
    ("bot-webhook", "/webhooks/", LazyPattern(r"/webhooks/\d{16,20}/[\w-]{40,80}", re.ASCII)),
    (
        "bot-webhook",
        "/webhookb2/",
        LazyPattern(r"webhook\.office\.com/webhookb2/[\w@/-]{32,300}", re.ASCII),
    ),
    ("bot-webhook", "/v2/hook/", LazyPattern(r"/open-apis/bot/v2/hook/[0-9a-f-]{36}")),
)
_RUN = LazyPattern(r"[\w-]*+", re.ASCII)
_AFTER_RUN = LazyPattern(r"(?:\.[\w-]*+){1,4}", re.ASCII)
_WEB_TOKEN_HEAD = 12
_PARTS_OF_ENCRYPTED = 4
"""An encrypted web token has four parts after its head."""


def find_tokens(searched: Searched) -> Iterator[Span]:
    """Yields every token. A text without long words is skipped before any pattern search."""
    text = searched.text
    words = [(max(0, start - _PREFIX_LENGTH), end) for start, end in searched.long_words]
    if not words:
        return
    around = " ".join(["", *[text[start:end] for start, end in words]])
    if _BEFORE_PREFIX.search(around):
        yield from _prefixed(text, _prefixes(text, words, around))
    if "eyJ" in around:
        yield from _web_tokens(text)
    for kind, anchor, middle, before in _MIDDLES:
        if anchor in around and middle.search(around):
            yield from _around_middles(text, kind, middle, before)
    if "hook" in text:
        for kind, anchor, webhook in _WEBHOOKS:
            if anchor in text:
                yield from (Span(*match.span(), kind) for match in webhook.finditer(text))


def token_length(text: str) -> int:
    """The length of the token that a text begins with; 0 if it begins with none."""
    token = _token().match(text)
    return token.end() if token else 0


def kind_of_token(text: str) -> str:
    """The kind of the token that a text begins with."""
    return _KINDS[_prefix(text, 0)]


def _prefixed(text: str, places: Iterable[int]) -> Iterator[Span]:
    """Yields the tokens that begin at these places, which are where prefixes begin."""
    position, token = 0, _token()
    for start in places:
        found = token.match(text, start) if start >= position else None
        if found is None:
            continue
        position = end = found.end()
        prefix = _prefix(text, start)
        if prefix not in _VAGUE or looks_random(
            text[start + len(prefix) : min(end, start + _SAMPLE)]
        ):
            yield Span(start, end, _KINDS[prefix])


def _prefixes(text: str, words: list[tuple[int, int]], around: str) -> Iterator[int]:
    """Where prefixes begin in these parts of the text, which are joined by spaces in `around`."""
    joined = list(accumulate((end - start + 1 for start, end in words), initial=1))
    for found in _BEFORE_PREFIX.finditer(around):
        word = bisect_right(joined, found.end()) - 1
        yield words[word][0] + found.end() - joined[word]


def _prefix(text: str, start: int) -> str:
    """Returns the longest prefix of a token at this place."""
    sizes = (text[start : start + size] for size in _PREFIX_SIZES)
    return next(prefix for prefix in sizes if prefix in _KINDS)


def _web_tokens(text: str) -> Iterator[Span]:
    """Yields signed and encrypted web tokens (JWT): parts of base64 between dots."""
    position = text.find("eyJ")
    while position >= 0:
        end = _end_of_run(text, position)
        if (
            position == 0 or not text[position - 1].isalnum()
        ) and end - position >= _WEB_TOKEN_HEAD:
            rest = _AFTER_RUN.match(text, end)
            if rest and (rest[0].startswith(".eyJ") or rest[0].count(".") == _PARTS_OF_ENCRYPTED):
                end = rest.end()
                yield Span(position, end, "jwt")
            position = text.find("eyJ", end)
        else:
            position = text.find("eyJ", position + 3)


def _end_of_run(text: str, start: int) -> int:
    run = _RUN.match(text, start)
    return run.end() if run else start


def _around_middles(
    text: str, kind: str, middle: LazyPattern, before: LazyPattern
) -> Iterator[Span]:
    for match in middle.finditer(text):
        first = max(0, match.start() - _BEFORE_MIDDLE)
        head = before.search(text[first : match.start()])
        if head:
            yield Span(first + head.start(), match.end(), kind)


_STARTS = (
    *("ghp_", "gho_", "ghs_", "github_pat_", "sk-ant-", "sk-proj-", "glpat-", "xoxb-", "xoxp-"),
    *("AIza", "npm_", "sk_live_", "ops_", "hf_", "pypi-AgE", "dckr_pat_", "shpat_"),
)
"""How tokens begin that people paste most. A short prefix would be found in ordinary words."""
_IN_WORDS = ("_", "-")
"""What may stand before the start of a token, but not before a word."""
_GAP = (
    r"""(?:["'`]?[ \t]{0,4}[+\\.]?[ \t]{0,4}\r?\n[ \t]{0,32}(?:\d{1,7}(?:\t|:[ ]?))?[ \t]{0,32}"""
    r"""(?:[+>|][ ]?)?["'`]?|["'`][ ]?[+.][ ]?["'`])"""
)
_BREAK = LazyPattern(_GAP + r"(?=[\w-]{8})", re.ASCII)
_MAX_BREAK = 100
_BEFORE_PART = "\n\t \"'`"
_AFTER_LINE_BREAK = " \t0123456789:+>|\"'`"
_LONG_WORD = 16
_MAX_AFTER_START = 16
_MAX_LINES = 8
_SHORTEST_TOKEN = 24
"""At most the length of the shortest token with one of these starts."""
_DIGIT = LazyPattern(r"\d", re.ASCII)


def find_broken_tokens(searched: Searched) -> Iterator[Span]:
    """Yields tokens that continue after a break. One of their first two parts is a long word."""
    text, done = searched.text, 0
    if not any(_may_be_part(text, start) for start, _ in searched.long_words):
        return
    run, gap = 0, None
    for place, start in sorted(_all_starts(text)):
        if place < done or (place and text[place - 1].isalnum()):
            continue
        if place >= run:  # not within the run of the start before
            run = _end_of_run(text, place)
            gap = _BREAK.match(text, run)
        if gap is not None and _is_broken(text, place, run - len(start), gap):
            done, span = _continued(text, place, gap)
            if span is not None:
                yield span


def _may_be_part(text: str, word: int) -> bool:
    """Whether a long word is the first part of a broken token, or follows one. Looks fast."""
    if text.startswith(_STARTS, word):
        return True
    if not word or text[word - 1] not in _BEFORE_PART:
        return False
    before = text[word - _MAX_BREAK if word > _MAX_BREAK else 0 : word]
    is_joined = "+" in before[-3:] or "." in before[-3:]
    if not is_joined and before.rstrip(_AFTER_LINE_BREAK)[-1:] != "\n":
        return False
    return any(map(before.__contains__, _STARTS))


def _all_starts(text: str) -> Iterator[tuple[int, str]]:
    """Every place at which a token may start, and its start."""
    for start in _STARTS:
        place = text.find(start)
        while place >= 0:
            yield place, start
            place = text.find(start, place + len(start))


def _is_broken(text: str, place: int, last: int, gap: re.Match[str]) -> bool:
    """Whether a token may start at this place and go on after the gap.

    If its first part is short, the second one is a long word. `last` is where the run before the
    gap ends, less the size of the start.
    """
    if gap.start() - place >= _LONG_WORD and text[place - 1 : place] not in _IN_WORDS:
        return True
    if last - place > _MAX_AFTER_START:
        return False
    return _end_of_run(text, gap.end()) - gap.end() >= _LONG_WORD


def _continued(text: str, position: int, gap: re.Match[str] | None) -> tuple[int, Span | None]:
    """Where the search continues, and the token that begins here if it continues after the gap."""
    first_end = end = gap.start() if gap else position
    joined = text[position:end]
    for _ in range(_MAX_LINES):
        if gap is None:
            break
        last = _end_of_run(text, gap.end())
        piece = text[gap.end() : last]
        if piece.startswith(_STARTS) or not _continues(joined, piece):
            break
        joined, end = joined + piece, last
        gap = _BREAK.match(text, end)
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


ENCODED_SECRET = "encoded-secret"
_MIN_PREFIX = 4
_MAX_LENGTH = 8_192
_BASE64 = LazyPattern(r"[A-Za-z0-9+/_-]*+={0,2}+", re.ASCII)
_HEX = LazyPattern(r"(?:[0-9a-f]{2})*+", re.ASCII)
_TEXTS = (
    *("https://", "http://", "postgres", "mysql://", "redis://", "mongodb", "amqp://"),
    *("password", "PASSWORD", "Password", "passwd", "secret", "SECRET", "token", "TOKEN"),
    *("api_key", "API_KEY", "DB_PASS", "export ", "-----BEGIN"),
)
"""Beginnings of texts with a secret that are not tokens themselves."""
_ENCODED_HEAD = 5


def encoded_words(searched: Searched) -> Iterator[tuple[int, int, str]]:
    """Yields words that may be an encoded secret: start, end, and the decoded text."""
    text, heads = searched.text, _heads()
    for start, _ in searched.long_words:
        encodings = heads.get(text[start : start + _ENCODED_HEAD])
        for prefix, is_hex in encodings or ():
            if not text.startswith(prefix, start):
                continue
            word = (_HEX if is_hex else _BASE64).match(text, start, start + _MAX_LENGTH)
            decoded = _decoded(word[0], is_hex=is_hex) if word else ""
            if word and decoded:
                yield start, word.end(), decoded


@cache
def _heads() -> dict[str, list[tuple[str, bool]]]:
    """The encoded forms of every beginning, by their first characters."""
    found: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
    prefixes = [prefix for _, given, _ in FORMS for prefix in given.split()]
    for prefix in (*prefixes, *_TEXTS):
        if len(prefix) >= _MIN_PREFIX:
            # The last character depends on what follows, if the prefix does not fill it.
            base64 = b64encode(prefix.encode())[: len(prefix) * 8 // 6].decode()
            for encoded, is_hex in ((base64, False), (prefix.encode().hex(), True)):
                found[encoded[:_ENCODED_HEAD]].append((encoded, is_hex))
    return dict(found)


def _decoded(word: str, *, is_hex: bool) -> str:
    """The decoded text; empty if it is not printable."""
    try:
        if is_hex:
            data = unhexlify(word)
        else:
            plain = word.rstrip("=")
            if "-" in plain or "_" in plain:  # the other alphabet
                plain = plain.replace("-", "+").replace("_", "/")
            data = a2b_base64(plain + "=" * (-len(plain) % 4))
        text = data.decode("ascii")
    except (Error, ValueError):
        return ""
    return text if text.isprintable() else ""
