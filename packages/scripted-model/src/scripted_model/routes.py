"""Maps a path to an API, and lists models in the form of each API. Pure."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from scripted_model.json_values import Json, JsonObject
from scripted_model.wires.wire import Action

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
DEFAULT_MODELS = ("claude-opus-5-5", "gpt-5", "gemini-3-pro", "scripted")
_CREATED = 1_735_689_600
_CREATED_AT = "2025-01-01T00:00:00Z"


class Route(Struct, frozen=True):
    """The API and action of a request. The paths of Gemini also name the model and streaming."""

    wire: str
    action: Action
    model: str = ""
    streams: bool = False


class ModelListRoute(Struct, frozen=True):
    """A request for the list of models, or for one model."""

    wire: str
    model: str = ""


def route(method: str, path: str, headers: Mapping[str, str]) -> Route | ModelListRoute | None:
    """Returns the route of a request, or `None` if there is no API at its path.

    >>> route("POST", "/v1beta/models/gemini-2.5-flash:countTokens", {})
    Route(wire='gemini', action='count', model='gemini-2.5-flash', streams=False)
    """
    if method == "GET":
        found = _MODELS.fullmatch(path)
        return ModelListRoute(wire_of(path, headers), found["model"] or "") if found else None
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
    """Returns the wire format for an error at any path."""
    if path.startswith("/v1beta") or "x-goog-api-key" in headers:
        return "gemini"
    if path.startswith("/v1/messages") or "anthropic-version" in headers:
        return "anthropic"
    return "chat"


def key_of(headers: Mapping[str, str], query: Mapping[str, str]) -> str:
    """Returns the API key of a request.

    >>> key_of({"authorization": "Bearer sk-1"}, {})
    'sk-1'
    """
    for name in ("x-api-key", "x-goog-api-key"):
        if name in headers:
            return headers[name]
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else query.get("key", "")


def model_list(wire: str, models: Sequence[str]) -> JsonObject:
    """Returns the list of models in the form of this wire format."""
    entries: list[Json] = [model_entry(wire, model) for model in models]
    match wire:
        case "anthropic":
            ends: JsonObject = {"first_id": models[0], "last_id": models[-1]} if models else {}
            return {"data": entries, "has_more": False, **ends}
        case "gemini":
            return {"models": entries}
        case _:
            return {"object": "list", "data": entries}


def model_entry(wire: str, model: str) -> JsonObject:
    """Returns one model in the form of this wire format."""
    match wire:
        case "anthropic":
            return {
                "type": "model",
                "id": model,
                "display_name": model,
                "created_at": _CREATED_AT,
            }
        case "gemini":
            return {
                "name": f"models/{model}",
                "displayName": model,
                "version": "001",
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            }
        case _:
            return {"id": model, "object": "model", "created": _CREATED, "owned_by": "scripted"}
