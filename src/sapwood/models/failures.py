"""What went wrong, in a sentence fit for a person. Imported at the first call.

A key never stands in a sentence: providers quote parts of it, so what they say of a key is not
repeated, and elsewhere every configured key is struck out.
"""

import re
from collections.abc import Iterable
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

from sapwood.core.calling import Failure
from sapwood.models.catalogue import names
from sapwood.models.names import Route, nearest

__all__ = ["failure_of"]

_TOO_LONG = re.compile(
    r"too long|too large|context (window|length|limit|size)|maximum context|exceeds? .*tokens"
    r"|tokens .*exceeds?|exceed_context|request_too_large",
    re.IGNORECASE,
)
_LONGEST = 300
_SHORTEST_KEY = 8
_WHERE = ("error", "message", "detail")


def failure_of(error: Exception, route: Route, keys: Iterable[str]) -> Failure:
    """The failure that an error stands for; those of pydantic-ai say most."""
    match error:
        case ModelConnectionError():
            return _unreachable(error, route)
        case ModelAPIError():
            return _answered(error, route, _without(keys, _words(error)))
        case UnexpectedModelBehavior():
            return Failure("cut", f"{route.title} sent no answer. Try again.", again=True)
        case UserError():
            return Failure("refused", f"This cannot be asked: {_without(keys, str(error))}")
        case _:
            what = _without(keys, f"{type(error).__name__}: {error}")
            return Failure("other", f"The call of {route.model} went wrong ({_short(what)}).")


def _answered(error: ModelAPIError, route: Route, words: str) -> Failure:
    status = error.status_code if isinstance(error, ModelHTTPError) else 0
    if isinstance(error, ModelQuotaExceededError):
        return Failure("refused", f"The account at {route.title} has no credit left. {words}")
    if isinstance(error, ModelAuthenticationError):
        return Failure("bad_key", _bad_key(route, words if status == 403 else ""))
    if isinstance(error, ModelContextWindowExceededError) or _is_too_long(status, words):
        return Failure("too_long", f"The request is too long for {route.model}: {words}")
    if isinstance(error, ModelNotFoundError):
        return Failure("no_model", _no_model(route))
    if isinstance(error, ModelRateLimitError):
        return _later(error, f"{route.title} limits how often it may be asked.")
    if isinstance(error, ModelUnavailableError):
        return _later(error, f"{route.title} is overloaded.")
    if isinstance(error, ModelServerError) or status in (408, 409):
        return _later(error, f"{route.title} has trouble of its own: {words}")
    if status:
        return Failure("refused", f"{route.title} refused the request: {words}")
    if error.in_stream:
        return Failure("cut", f"{route.title} broke the answer off: {words}", again=True)
    return Failure("other", f"{route.title} gave no answer: {words}", again=True)


def _unreachable(error: ModelConnectionError, route: Route) -> Failure:
    host = urlsplit(route.url).netloc
    if isinstance(error, ModelTimeoutError):
        return Failure("no_network", f"{host} does not answer. Try again.", again=True)
    if error.phase == "read":
        return Failure("cut", f"The connection to {host} broke. Try again.", again=True)
    return Failure(
        "no_network", f"{host} cannot be reached. Check the network, then try again.", again=True
    )


def _later(error: ModelAPIError, sentence: str) -> Failure:
    again = not (isinstance(error, ModelHTTPError) and error.provider_retry_hint is False)
    after = error.retry_after
    when = f" Try again in {after:.0f} s." if after and after >= 1 else " Try again later."
    return Failure("overloaded", sentence + when, again=again, after=after)


def _bad_key(route: Route, words: str) -> str:
    where = route.variable or f"the key of '{route.account}'"
    why = f" It says: {words}" if words else ""
    return f"{route.title} refused the key. Check {where}, then try again.{why}"


def _no_model(route: Route) -> str:
    if not route.catalogue:
        return f"{route.title} has no model '{route.model}', or {route.url} is not its address."
    known = [name for name in names(route.catalogue) if name != route.model]
    return f"{route.title} has no model '{route.model}'.{nearest(route.model, known)}"


def _is_too_long(status: int, words: str) -> bool:
    return status == 413 or (status in (400, 422) and bool(_TOO_LONG.search(words)))


def _words(error: ModelAPIError) -> str:
    """What the provider said, on one line that is not too long."""
    said = _message(error.body) or ("" if isinstance(error, ModelHTTPError) else error.message)
    return _short(said) or "it did not say why."


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _message(body: object) -> str:
    """The words in a body, out of the shapes that providers put them in."""
    if isinstance(body, str):
        return body
    if isinstance(body, list) and body:
        return _message(cast("list[object]", body)[0])
    if isinstance(body, dict):
        known = cast("dict[str, object]", body)
        return next((_message(known[key]) for key in _WHERE if key in known), "")
    return ""


def _without(keys: Iterable[str], words: str) -> str:
    for key in set(keys):
        if len(key) >= _SHORTEST_KEY:
            words = words.replace(key, "[key]")
    return words
