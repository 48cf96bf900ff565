"""Events to bytes and back.

Long texts are taken out of the JSON and replaced by their hash, so that a store keeps each of
them once and an event stays small. Which strings were replaced is told beside the JSON: a user's
text can never be mistaken for such a reference, because no event holds an untyped object.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from sapwood.core.errors import NewerEvent
from sapwood.core.events import Event

__all__ = ["LARGE", "Encoded", "NewerEvent", "decode", "encode"]

LARGE = 2048
"""Texts from this many characters on are stored once, by hash."""

_KINDS: dict[str, type[Event]] = {cls.kind: cls for cls in get_args(Event)}
_DECODERS = {kind: msgspec.json.Decoder(cls) for kind, cls in _KINDS.items()}
_encoder = msgspec.json.Encoder(order="deterministic")
_PLACE = "$content"


class Encoded(msgspec.Struct, frozen=True):
    """An event as a store keeps it: kind, JSON, and the long texts by their hash."""

    kind: str
    data: str
    contents: Mapping[str, str]


def encode(event: Event) -> Encoded:
    """The event as a store keeps it."""
    data = _encoder.encode(event)
    if len(data) < LARGE:
        return Encoded(event.kind, data.decode(), {})
    contents: dict[str, str] = {}
    slim = _take_out(msgspec.to_builtins(event, order="deterministic"), contents)
    if not contents:
        return Encoded(event.kind, data.decode(), {})
    return Encoded(event.kind, _encoder.encode(slim).decode(), contents)


def decode(kind: str, data: str | bytes, contents: Mapping[str, str] | None = None) -> Event:
    """The event that `encode` took apart; `contents` must hold every text it took out."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise NewerEvent(kind)
    if not contents:
        return decoder.decode(data)
    return msgspec.convert(_put_back(msgspec.json.decode(data), contents), _KINDS[kind])


def _take_out(value: Any, contents: dict[str, str]) -> Any:
    # By exact type, not by `match`: an import spends a good part of its time here.
    kind: type = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str:
        if len(value) < LARGE:
            return value
        digest = hashlib.sha256(value.encode()).hexdigest()
        contents[digest] = value
        return {_PLACE: digest}
    if kind is dict:
        return {key: _take_out(item, contents) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_take_out(item, contents) for item in value]
    return value


def _put_back(value: Any, contents: Mapping[str, str]) -> Any:
    match value:
        case {"$content": str(digest)}:
            return contents[digest]
        case list():
            return [_put_back(item, contents) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {key: _put_back(item, contents) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value
