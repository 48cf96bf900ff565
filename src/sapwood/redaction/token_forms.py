"""Finds keys and tokens that have a form of their own, by how they begin."""

import re
import string
from collections.abc import Iterator

from sapwood.redaction.byte_text import ByteText, Span

__all__ = ["PRIVATE_KEY", "TOKEN_KINDS", "find_private_keys", "find_tokens"]


# Kind, prefix, and the rest. The rest is long and has no break, which excludes ordinary words.
# Tokens of one issuer share a kind.
_FORMS = (
    ("anthropic-key", r"sk-ant-", r"[\w-]{20,}"),
    ("openrouter-key", r"sk-or-", r"[\w-]{20,}"),
    ("openai-key", r"sk-(?:proj|svcacct|admin|None)-", r"[\w-]{20,}"),
    ("openai-key", r"sk-", r"[A-Za-z0-9]{32,}"),
    ("google-key", r"AIza", r"[\w-]{35}"),
    ("google-token", r"ya29\.", r"[\w.-]{20,}"),
    ("google-secret", r"GOCSPX-", r"[\w-]{20,}"),
    ("groq-key", r"gsk_", r"[A-Za-z0-9]{32,}"),
    ("xai-key", r"xai-", r"[A-Za-z0-9]{40,}"),
    ("perplexity-key", r"pplx-", r"[A-Za-z0-9]{32,}"),
    ("huggingface-token", r"hf_", r"[A-Za-z0-9]{30,}"),
    ("replicate-token", r"r8_", r"[A-Za-z0-9]{37}"),
    ("aws-key", r"(?:AKIA|ASIA|ABIA|ACCA)", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github-token", r"gh[pousr]_", r"[A-Za-z0-9]{36,}"),
    ("github-token", r"github_pat_", r"\w{22,}"),
    ("gitlab-token", r"gl(?:pat|dt|rt|ptt|soat|cbt|agent|ft|imt)-", r"[\w-]{20,}"),
    ("slack-token", r"xox[abeoprs]-", r"[A-Za-z0-9-]{20,}"),
    ("slack-token", r"xapp-", r"[A-Za-z0-9-]{20,}"),
    ("slack-webhook", r"hooks\.slack\.com/services/", r"[A-Z0-9]+/[A-Z0-9]+/[A-Za-z0-9]{16,}"),
    ("stripe-key", r"[sr]k_(?:live|test)_", r"[A-Za-z0-9]{16,}"),
    ("webhook-secret", r"whsec_", r"[A-Za-z0-9+/=]{24,}"),
    ("npm-token", r"npm_", r"[A-Za-z0-9]{36}"),
    ("pypi-token", r"pypi-AgE", r"[\w-]{50,}"),
    ("docker-token", r"dckr_(?:pat|oat)_", r"[\w-]{20,}"),
    ("sendgrid-key", r"SG\.", r"[\w-]{20,24}\.[\w-]{39,50}"),
    ("digitalocean-token", r"do[por]_v1_", r"[0-9a-f]{64}"),
    ("databricks-token", r"dapi", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("shopify-token", r"shp(?:at|ca|pa|ss)_", r"[0-9A-Fa-f]{32}"),
    ("linear-key", r"lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,}"),
    ("vault-token", r"hv[sbr]\.", r"[\w-]{24,}"),
    ("grafana-token", r"gl(?:sa|c)_", r"[A-Za-z0-9+/=_]{32,}"),
    ("sentry-token", r"sntry[su]_", r"[\w+/=-]{40,}"),
    ("telegram-token", r"\d{8,10}:AA", r"[\w-]{33}(?![\w-])"),
    ("age-key", r"AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    ("jwt", r"eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}"),
    # A private key in base64, as Kubernetes stores it: '-----BEGIN … PRIVATE KEY'.
    ("private-key", r"LS0tLS1CRUdJTiB(?:SU0Eg|FQyBQ|PUEVO|QUklW|FTkNS)", r"[A-Za-z0-9+/=]{40,}"),
)
TOKEN_KINDS = frozenset(kind for kind, _, _ in _FORMS)

_WORD_START = r"(?<![A-Za-z0-9])"
_PREFIX = re.compile(_WORD_START + "(?:" + "|".join(p for _, p, _ in _FORMS) + ")", re.ASCII)
_TOKEN = re.compile(
    _WORD_START + "(?:" + "|".join(f"({p}{rest})" for _, p, rest in _FORMS) + ")", re.ASCII
)
# Prefixes that may end before the long word begins, so they are searched for separately.
_SEPARATE_PREFIXES = ("eyJ", "hooks.slack.com/")
_PREFIX_LENGTH = 11
"""The longest prefix before a long word: the number of a bot and a colon."""
_LONG_WORD = 20
_WORD_SHAPE = bytes(
    ord("w") if chr(char) in string.ascii_letters + string.digits + "_-" else 32
    for char in range(256)
)

PRIVATE_KEY = "private-key"
_KEY_HEADER = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BEGIN = "-----BEGIN "
_KEY_FOOTER = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_MAX_LENGTH = 30_000
# The lines of a key without a footer: perhaps a line number or a quote, then base64.
_KEY_LINES = re.compile(
    r"(?:(?:\\[nr]|\s)+(?:\d+[\t:|]\s?)?[\"'+> ]*[A-Za-z0-9+/=]{16,}[\"',]*)*", re.ASCII
)


def find_tokens(byte_text: ByteText) -> Iterator[Span]:
    """Yields every token. A text without long words is skipped before any pattern search."""
    text = byte_text.text
    for prefix in _SEPARATE_PREFIXES:
        start = text.find(prefix)
        while start >= 0:
            yield from _tokens_between(text, start, start + len(prefix))
            start = text.find(prefix, start + 1)
    words = list(_long_words(byte_text.data))
    if _PREFIX.search(" ".join([text[start:end] for start, end in words])):
        for start, end in words:
            yield from _tokens_between(text, start, end)


def _long_words(data: bytes) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each long word, with a few characters before it."""
    shape = data.translate(_WORD_SHAPE)
    start = shape.find(b"w" * _LONG_WORD)
    while start >= 0:
        end = shape.find(b" ", start)
        end = end if end >= 0 else len(shape)
        yield max(0, start - _PREFIX_LENGTH), end
        start = shape.find(b"w" * _LONG_WORD, end)


def _tokens_between(text: str, start: int, end: int) -> Iterator[Span]:
    """Yields the tokens that begin between two positions; they may end later."""
    for prefix in _PREFIX.finditer(text, start, end):
        token = _TOKEN.match(text, prefix.start())
        if token:
            yield Span(*token.span(), _FORMS[(token.lastindex or 1) - 1][0])


def find_private_keys(text: str) -> Iterator[Span]:
    """Yields every PEM or PGP private key, also one whose footer is missing."""
    if _KEY_BEGIN not in text:
        return
    position = 0
    while header := _KEY_HEADER.search(text, position):
        position = _key_end(text, header.end())
        yield Span(header.start(), position, PRIVATE_KEY)


def _key_end(text: str, start: int) -> int:
    """Returns where the key ends whose header ends at `start`."""
    next_key = text.find(_KEY_BEGIN, start, start + _KEY_MAX_LENGTH)
    limit = next_key if next_key >= 0 else start + _KEY_MAX_LENGTH
    footer_start = text.find("-----END ", start, limit)
    footer = _KEY_FOOTER.match(text, footer_start) if footer_start >= 0 else None
    if footer:
        return footer.end()
    lines = _KEY_LINES.match(text, start)
    return lines.end() if lines else start
