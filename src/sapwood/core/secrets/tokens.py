"""Keys and tokens that their issuers gave a form of their own, told by how they begin."""

import re
import string
from collections.abc import Iterator

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
# Heads that stand before a break, after which too little may follow to make a long word.
_BROKEN = ("eyJ", "ya29.", "SG.", "hvs.", "hvb.", "hvr.", "hooks.slack.com/", ":AA")
_BEFORE_A_BREAK = 10  # the digits of a Telegram token
_SHORTEST = 20
_LONG_WORD = re.compile(rf"[A-Za-z0-9_-]{{{_SHORTEST},}}+")
_WORDS = bytes(
    char if chr(char) in string.ascii_letters + string.digits + "_-" else 32 for char in range(256)
)


def tokens(text: str) -> Iterator[Span]:
    """Every token in the text. Most texts have none, which is seen without a pattern search."""
    for head in _BROKEN:
        place = text.find(head)
        while place >= 0:
            start = max(0, place - _BEFORE_A_BREAK)
            yield from _within(text, start, place + len(head))
            place = text.find(head, place + 1)
    if _has_suspicious_word(text):
        for word in _LONG_WORD.finditer(text):
            yield from _within(text, *word.span())


def _within(text: str, start: int, end: int) -> Iterator[Span]:
    """The tokens that begin between two places, wherever they end."""
    for head in _HEAD.finditer(text, start, end):
        token = _WHOLE.match(text, head.start())
        if token:
            yield Span(*token.span(), _FORMS[(token.lastindex or 1) - 1][0])


def _has_suspicious_word(text: str) -> bool:
    words = text.encode("utf-8", "replace").translate(_WORDS).split()
    long = b" ".join([word for word in words if len(word) >= _SHORTEST])
    return _HEAD.search(long.decode("ascii")) is not None
