"""Keys and tokens that their issuers gave a form of their own, told by how they begin."""

import re
import string
from collections.abc import Iterator

from sapwood.core.secrets.narrow import Narrow
from sapwood.core.secrets.span import Span

__all__ = ["KINDS", "tokens"]

# Kind, how it begins, and what follows. What follows is long and has no break: that is what
# keeps ordinary words out. Two kinds of one issuer share a name.
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
    # A private key once more encoded, as Kubernetes keeps it: '-----BEGIN … PRIVATE KEY'.
    ("private-key", r"LS0tLS1CRUdJTiB(?:SU0Eg|FQyBQ|PUEVO|QUklW|FTkNS)", r"[A-Za-z0-9+/=]{40,}"),
)
KINDS = frozenset(kind for kind, _, _ in _FORMS)

_FREE = r"(?<![A-Za-z0-9])"
_HEAD = re.compile(_FREE + "(?:" + "|".join(head for _, head, _ in _FORMS) + ")", re.ASCII)
_WHOLE = re.compile(
    _FREE + "(?:" + "|".join(f"({head}{rest})" for _, head, rest in _FORMS) + ")", re.ASCII
)
# Heads that stand so far before a long word that they are looked for themselves.
_APART = ("eyJ", "hooks.slack.com/")
_BEFORE = 11
"""Characters of a head before the long word that it belongs to: a bot's number and a colon."""
_LONG = 20
_SHAPE = bytes(
    ord("w") if chr(char) in string.ascii_letters + string.digits + "_-" else 32
    for char in range(256)
)


def tokens(narrow: Narrow) -> Iterator[Span]:
    """Every token in the text. Most texts have none, which is seen without a pattern search."""
    text = narrow.text
    for head in _APART:
        place = text.find(head)
        while place >= 0:
            yield from _within(text, place, place + len(head))
            place = text.find(head, place + 1)
    words = list(_long_words(narrow.data))
    if _HEAD.search(" ".join([text[start:end] for start, end in words])):
        for start, end in words:
            yield from _within(text, start, end)


def _long_words(data: bytes) -> Iterator[tuple[int, int]]:
    """Where long words stand, each with a little of what is before it."""
    shape = data.translate(_SHAPE)
    start = shape.find(b"w" * _LONG)
    while start >= 0:
        end = shape.find(b" ", start)
        end = end if end >= 0 else len(shape)
        yield max(0, start - _BEFORE), end
        start = shape.find(b"w" * _LONG, end)


def _within(text: str, start: int, end: int) -> Iterator[Span]:
    """The tokens that begin between two places, wherever they end."""
    for head in _HEAD.finditer(text, start, end):
        token = _WHOLE.match(text, head.start())
        if token:
            yield Span(*token.span(), _FORMS[(token.lastindex or 1) - 1][0])
