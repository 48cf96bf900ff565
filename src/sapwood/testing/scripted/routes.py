"""From a path to a wire format and what is asked of it. Pure."""

import re
from collections.abc import Mapping

from msgspec import Struct

from sapwood.testing.scripted.wires.wire import Action

__all__ = ["Listing", "Route", "key_of", "route", "wire_of"]

_PATHS: dict[str, tuple[str, Action]] = {
    "/v1/messages": ("anthropic", "reply"),
    "/v1/messages/count_tokens": ("anthropic", "count"),
    "/v1/responses": ("responses", "reply"),
    "/v1/responses/compact": ("responses", "compact"),
    "/v1/responses/input_tokens": ("responses", "count"),
    "/v1/chat/completions": ("chat", "reply"),
}
_GEMINI = re.compile(r"/v1(?:alpha|beta)?/models/(?P<model>[^/:]+):(?P<method>\w+)")
_GEMINI_METHODS: dict[str, tuple[Action, bool]] = {
    "generateContent": ("reply", False),
    "streamGenerateContent": ("reply", True),
    "countTokens": ("count", False),
}
_MODELS = re.compile(r"/(?P<version>v1|v1beta)/models(?:/(?P<model>[^/:]+))?")


class Route(Struct, frozen=True):
    """Where a request is to go. Gemini names model and streaming in the path."""

    wire: str
    action: Action
    model: str = ""
    streams: bool = False


class Listing(Struct, frozen=True):
    """A request for the list of models, or for one of them."""

    wire: str
    model: str = ""


def route(method: str, path: str, headers: Mapping[str, str]) -> Route | Listing | None:
    """Where a request goes; `None` if there is nothing at its path.

    >>> route("POST", "/v1beta/models/gemini-2.5-flash:countTokens", {})
    Route(wire='gemini', action='count', model='gemini-2.5-flash', streams=False)
    """
    if method == "GET":
        found = _MODELS.fullmatch(path)
        return Listing(wire_of(path, headers), found["model"] or "") if found else None
    if method != "POST":
        return None
    if path in _PATHS:
        return Route(*_PATHS[path])
    found = _GEMINI.fullmatch(path)
    if found is None or found["method"] not in _GEMINI_METHODS:
        return None
    action, streams = _GEMINI_METHODS[found["method"]]
    return Route("gemini", action, found["model"], streams)


def wire_of(path: str, headers: Mapping[str, str]) -> str:
    """The format in which an answer to any path is understood."""
    if path.startswith("/v1beta") or "x-goog-api-key" in headers:
        return "gemini"
    if path.startswith("/v1/messages") or "anthropic-version" in headers:
        return "anthropic"
    return "chat"


def key_of(headers: Mapping[str, str], query: Mapping[str, str]) -> str:
    """The key that came with a request.

    >>> key_of({"authorization": "Bearer sk-1"}, {})
    'sk-1'
    """
    for name in ("x-api-key", "x-goog-api-key"):
        if name in headers:
            return headers[name]
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else query.get("key", "")
