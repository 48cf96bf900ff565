"""Turns errors of libraries into `Failure`s with a message for people. Imported at first call.

No message contains an API key. Providers quote parts of a key when they refuse it, so those
messages are not repeated; in all others every configured key is replaced.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UserError,
)

from sapwood.config.api_keys import key_origins, load_keys
from sapwood.config.config_file import ConfigError
from sapwood.core.model_calls import Failure
from sapwood.core.refusals.refusal import did_you_mean, nearest
from sapwood.models.model_routes import ModelRoute, model_names

__all__ = ["failure_of"]

_TOO_LONG = re.compile(
    r"too long|too large|context (window|length|limit|size)|maximum context|exceeds? .*tokens"
    r"|tokens .*exceeds?|exceed_context|request_too_large",
    re.IGNORECASE,
)
_MAX_MESSAGE = 300
_MIN_KEY = 8
_MESSAGE_FIELDS = ("error", "message", "detail")


def failure_of(error: Exception, route: ModelRoute, keys: Iterable[str]) -> Failure:
    """The failure for an error that a library raised during a call."""
    match error:
        case ModelConnectionError():
            return _unreachable(error, route)
        case ModelAPIError():
            known = tuple(keys)
            words = _without_keys(known, _provider_message(error))
            return _refused_call(error, route, known, words)
        case UnexpectedModelBehavior():
            return Failure("cut", f"{route.title} sent no answer. Try again.", again=True)
        case UserError():
            return Failure(
                "refused", f"This request cannot be sent: {_without_keys(keys, str(error))}"
            )
        case _:
            what = _without_keys(keys, f"{type(error).__name__}: {error}")
            return Failure("other", f"The call of {route.model} failed ({_short(what)}).")


def _refused_call(
    error: ModelAPIError, route: ModelRoute, keys: Iterable[str], words: str
) -> Failure:
    status = error.status_code if isinstance(error, ModelHTTPError) else 0
    if isinstance(error, ModelQuotaExceededError):
        return Failure("refused", f"The account at {route.title} has no credit left. {words}")
    if isinstance(error, ModelAuthenticationError):
        return Failure("bad_key", _bad_key(route, keys, words if status == 403 else ""))
    if isinstance(error, ModelContextWindowExceededError) or _is_too_long(status, words):
        return Failure("too_long", f"The request is too long for {route.model}: {words}")
    if isinstance(error, ModelNotFoundError):
        return Failure("no_model", _no_model(route))
    if isinstance(error, ModelRateLimitError):
        return _retry_later(error, f"{route.title} limits the rate of requests.")
    if isinstance(error, ModelUnavailableError):
        return _retry_later(error, f"{route.title} is overloaded.")
    if isinstance(error, ModelServerError) or status in (408, 409):
        return _retry_later(error, f"{route.title} reports an error: {words}")
    if status:
        return Failure("refused", f"{route.title} refused the request: {words}")
    if error.in_stream:
        return Failure("cut", f"{route.title} ended the answer early: {words}", again=True)
    return Failure("other", f"{route.title} gave no answer: {words}", again=True)


def _unreachable(error: ModelConnectionError, route: ModelRoute) -> Failure:
    host = urlsplit(route.url).netloc
    if isinstance(error, ModelTimeoutError):
        return Failure("no_network", f"{host} does not answer. Try again.", again=True)
    if error.phase == "read":
        return Failure("cut", f"The connection to {host} broke. Try again.", again=True)
    return Failure(
        "no_network", f"{host} cannot be reached. Check the network, then try again.", again=True
    )


def _retry_later(error: ModelAPIError, sentence: str) -> Failure:
    again = not (isinstance(error, ModelHTTPError) and error.provider_retry_hint is False)
    after = error.retry_after
    when = f" Try again in {after:.0f} s." if after and after >= 1 else " Try again later."
    return Failure("overloaded", sentence + when, again=again, after=after)


def _bad_key(route: ModelRoute, keys: Iterable[str], words: str) -> str:
    origin = _origin(route.account, keys)
    why = f" It says: {words}" if words else ""
    return (
        f"{route.title} rejected the API key{f' (from {origin})' if origin else ''}. "
        f"To give another, type: sapwood config key {route.account}{why and '.'}{why}"
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


def _is_too_long(status: int, words: str) -> bool:
    return status == 413 or (status in (400, 422) and bool(_TOO_LONG.search(words)))


def _provider_message(error: ModelAPIError) -> str:
    """The provider's own message, on one line of limited length."""
    message = _message(error.body) or ("" if isinstance(error, ModelHTTPError) else error.message)
    return _short(message) or "it gave no reason."


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _MAX_MESSAGE else line[: _MAX_MESSAGE - 1] + "…"


def _message(body: object) -> str:
    """The message in an error body, wherever the provider put it."""
    if isinstance(body, str):
        return body
    if isinstance(body, list) and body:
        return _message(cast("list[object]", body)[0])
    if isinstance(body, dict):
        fields = cast("dict[str, object]", body)
        return next((_message(fields[key]) for key in _MESSAGE_FIELDS if key in fields), "")
    return ""


def _without_keys(keys: Iterable[str], words: str) -> str:
    for key in set(keys):
        if len(key) >= _MIN_KEY:
            words = words.replace(key, "[key]")
    return words
