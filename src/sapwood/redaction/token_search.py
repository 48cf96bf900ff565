"""Finds tokens of a known form, in a time that grows with the length of the text only."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate

from sapwood.redaction.byte_text import Searched, Span
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
_WORD_CLASS = re.compile(r"(\[[\w\\-]+\]|\\[wd])\{(\d+)")
_ALL = (*FORMS, *VAGUE_FORMS)
_PREFIX = re.compile(_alternatives(_ALL, whole=False), re.ASCII)
_BEFORE_PREFIX = re.compile(rf"[^A-Za-z0-9](?={_PREFIX.pattern})", re.ASCII)
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
        re.compile(r":AA(?<=\d{8}:AA)[\w-]{33}(?![\w-])", re.ASCII),
        re.compile(r"\d{8,10}$", re.ASCII),
    ),
    (
        "terraform-token",
        ".atlasv1.",
        re.compile(r"\.atlasv1\.[\w-]{60,}+", re.ASCII),
        re.compile(r"[A-Za-z0-9]{14}$"),
    ),
    (
        "azure-secret",
        "Q~",
        re.compile(r"Q~(?<=[\w~.-]{3}\dQ~)[\w~.-]{31,34}(?![\w~.-])", re.ASCII),
        re.compile(r"[\w~.-]{3}\d$", re.ASCII),
    ),
    (
        "mailchimp-key",
        "-us",
        re.compile(r"-us(?<=[0-9a-f]{32}-us)\d{1,2}(?!\w)", re.ASCII),
        re.compile(r"[0-9a-f]{32}$"),
    ),
    (
        "maxmind-key",
        "_mmk",
        re.compile(r"_mmk(?<=\w{6}_\w{29}_mmk)(?!\w)", re.ASCII),
        re.compile(r"\w{36}$", re.ASCII),
    ),
    (
        "asana-token",
        ":",
        re.compile(r":(?<=\d{12}:)[0-9a-f]{32}(?!\w)", re.ASCII),
        re.compile(r"[012]/\d{12,20}(?:/\d{12,20})?$", re.ASCII),
    ),
    (
        "discord-token",
        ".",
        re.compile(r"\.[\w-]{6}\.[\w-]{27,40}(?![\w-])", re.ASCII),
        re.compile(r"(?<![A-Za-z0-9])[MNO][\w-]{23,27}$", re.ASCII),
    ),
)
_BEFORE_MIDDLE = 48
# The addresses of webhooks. Every anchor contains `hook`, which is looked for first.
_WEBHOOKS = (
    (
        "slack-webhook",
        "hooks.slack.com/",
        re.compile(
            r"hooks\.slack\.com/(?:services|workflows|triggers)/\w{2,24}/[\w/-]{16,128}", re.ASCII
        ),
    ),
    ("bot-webhook", "/webhooks/", re.compile(r"/webhooks/\d{16,20}/[\w-]{40,80}", re.ASCII)),
    (
        "bot-webhook",
        "/webhookb2/",
        re.compile(r"webhook\.office\.com/webhookb2/[\w@/-]{32,300}", re.ASCII),
    ),
    ("bot-webhook", "/v2/hook/", re.compile(r"/open-apis/bot/v2/hook/[0-9a-f-]{36}")),
)
_RUN = re.compile(r"[\w-]*+", re.ASCII)
_AFTER_RUN = re.compile(r"(?:\.[\w-]*+){1,4}", re.ASCII)
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
    text: str, kind: str, middle: re.Pattern[str], before: re.Pattern[str]
) -> Iterator[Span]:
    for match in middle.finditer(text):
        first = max(0, match.start() - _BEFORE_MIDDLE)
        head = before.search(text[first : match.start()])
        if head:
            yield Span(first + head.start(), match.end(), kind)
