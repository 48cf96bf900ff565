"""Turns errors of a call into `Failure`s with a message for people. Imported at the first call.

No message contains an API key. Providers quote parts of a key when they refuse it, so those
messages are not repeated; in all others every configured key is replaced.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from sapwood.config.api_keys import key_origins, load_keys
from sapwood.config.config_file import ConfigError
from sapwood.core.model_calls import Failure
from sapwood.core.refusals.refusal import did_you_mean, nearest
from sapwood.models.catalogue import model_names
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.provider_error import ProviderError, UnreadableReply
from sapwood.models.wire.sse import ReplyTooLarge

_TOO_LONG = re.compile(
    r"too long|too large|context (window|length|limit|size)|maximum context|exceeds? .*tokens"
    r"|tokens .*exceeds?|exceed_context|request_too_large",
    re.IGNORECASE,
)
_OVERLOADED = re.compile(r"overloaded|over capacity", re.IGNORECASE)
_NO_CREDIT = frozenset(
    """insufficient_quota billing_hard_limit_reached credit_balance_exhausted billing_error
    organization_spend_limit_exceeded project_spend_limit_exceeded
    organization_usage_limit_exceeded""".split()
)
_BAD_KEY = frozenset({"invalid_api_key", "authentication_error", "API_KEY_INVALID"})
_MAX_MESSAGE = 300
_MIN_KEY = 8


def failure_of(error: Exception, route: ModelRoute, keys: Iterable[str]) -> Failure:
    """The failure for an error that was raised during a call."""
    match error:
        case ProviderError():
            known = tuple(keys)
            words = _short(_without_keys(known, error.words)) or "it gave no reason."
            return _refused_call(error, route, known, words)
        case httpx2.TransportError():
            return _unreachable(error, route)
        case ReplyTooLarge():
            return Failure("other", f"The answer from {route.title} is too large: {error}.")
        case UnreadableReply():
            return Failure("cut", f"{route.title} sent an invalid answer.", again=True)
        case _:
            what = _without_keys(keys, f"{type(error).__name__}: {error}")
            return Failure("other", f"The call to {route.model} failed ({_short(what)}).")


def _refused_call(
    error: ProviderError, route: ModelRoute, keys: Iterable[str], words: str
) -> Failure:
    status, codes = error.status, error.codes
    if status == 402 or codes & _NO_CREDIT:
        return Failure("refused", f"The account at {route.title} has no credit left. {words}")
    if status in (401, 403) or codes & _BAD_KEY:
        return Failure("bad_key", _bad_key(route, keys, words if status == 403 else ""))
    if _is_too_long(error, words):
        return Failure("too_long", f"The request is too long for {route.model}: {words}")
    if status == 404 or "model_not_found" in codes:
        return Failure("no_model", _no_model(route))
    if status == 429:
        return _retry_later(error, f"{route.title} is rate limiting requests.")
    if status in (503, 529) or any(_OVERLOADED.search(code) for code in codes):
        return _retry_later(error, f"{route.title} is overloaded.")
    if status >= 500 or status in (408, 409):
        return _retry_later(error, f"{route.title} reported an error: {words}")
    if error.in_stream:
        return Failure("cut", f"{route.title} ended the answer early: {words}", again=True)
    if status >= 300:
        return Failure("refused", f"{route.title} refused the request: {words}")
    return Failure("other", f"{route.title} gave no answer: {words}", again=True)


def _unreachable(error: httpx2.TransportError, route: ModelRoute) -> Failure:
    host = urlsplit(route.url).netloc.rpartition("@")[2]
    match error:
        case httpx2.TimeoutException():
            return Failure("no_network", f"{host} is not responding. Try again.", again=True)
        case httpx2.ReadError() | httpx2.RemoteProtocolError():
            return Failure("cut", f"The connection to {host} broke. Try again.", again=True)
        case httpx2.LocalProtocolError() | httpx2.UnsupportedProtocol():
            sentence = (
                f"This request cannot be sent to {host}. Check the address and the API key: a key "
                "cannot contain spaces or line breaks."
            )
            return Failure("refused", sentence)
        case _:
            sentence = f"{host} cannot be reached. Check the network, then try again."
            return Failure("no_network", sentence, again=True)


def _retry_later(error: ProviderError, sentence: str) -> Failure:
    after = error.after
    when = f" Try again in {after:.0f} s." if after and after >= 1 else " Try again later."
    return Failure("overloaded", sentence + when, again=error.again, after=after)


def _bad_key(route: ModelRoute, keys: Iterable[str], words: str) -> str:
    origin = _origin(route.account, keys)
    why = f" It says: {words}" if words else ""
    return (
        f"{route.title} rejected the API key{f' (from {origin})' if origin else ''}. To set "
        f"another one, type: sapwood config key {route.account}{why and '.'}{why}"
    )


def _origin(account: str, keys: Iterable[str]) -> str:
    """The variable or file that the key comes from; empty if the caller passed its own."""
    try:
        if load_keys().get(account, "").strip() not in set(keys):
            return ""
        return Path(key_origins().get(account, "")).name
    except ConfigError:
        return ""


def _no_model(route: ModelRoute) -> str:
    if not route.catalogue:
        return f"{route.title} has no model '{route.model}', or {route.url} is not its address."
    known = [name for name in model_names(route.catalogue) if name != route.model]
    hint = did_you_mean(nearest(route.model, known, 0.6))
    return f"{route.title} has no model '{route.model}'.{hint}"


def _is_too_long(error: ProviderError, words: str) -> bool:
    if error.status == 413 or "context_length_exceeded" in error.codes:
        return True
    return error.status in (400, 422) and bool(_TOO_LONG.search(words))


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _MAX_MESSAGE else line[: _MAX_MESSAGE - 1] + "…"


def _without_keys(keys: Iterable[str], words: str) -> str:
    for key in set(keys):
        if len(key) >= _MIN_KEY:
            words = words.replace(key, "[key]")
    return words
