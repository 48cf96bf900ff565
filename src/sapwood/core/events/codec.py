"""Encodes and decodes events.

Long texts are replaced in the JSON by an object with their hash, so that a store keeps each text
once and an event is small. A text of a user is never mistaken for such an object, because no event
has a field for untyped objects.

Decoding never raises: an event that cannot be read becomes an `UnreadableEvent`.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, get_args

import msgspec

from sapwood.core.events import Event, UnreadableEvent

LARGE = 2048
"""Texts from this many characters on are stored once, by hash."""

_KINDS: dict[str, type[Event]] = {
    cls.kind: cls for cls in get_args(Event) if cls is not UnreadableEvent
}
_DECODERS = {kind: msgspec.json.Decoder(cls) for kind, cls in _KINDS.items()}
_encoder = msgspec.json.Encoder(order="deterministic")
_PLACE = "$content"
# Inside of a JSON string every quotation mark has a backslash before it, so no text looks like it.
_OF_CONTENT = re.compile(rb'\{\s*"\$content"\s*:\s*"([^"\\]*)"\s*\}')


_NO_CONTENTS: Mapping[str, str] = MappingProxyType({})


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """An event as a store keeps it: kind, JSON, and its long texts by hash."""

    kind: str
    data: str
    contents: Mapping[str, str]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def encode(event: Event, digest: Callable[[str], str] = _sha256) -> Encoded:
    """The event as a store keeps it. An `UnreadableEvent` is encoded as it was stored.

    `digest` gives the hash of a long text, as 64 hexadecimal digits.
    """
    if isinstance(event, UnreadableEvent):
        return Encoded(event.kind, event.data.decode("utf-8", "replace"), _NO_CONTENTS)
    data = _encoder.encode(event)
    if len(data) < LARGE:
        return Encoded(event.kind, data.decode(), _NO_CONTENTS)
    contents: dict[str, str] = {}
    slim = _take_out(msgspec.to_builtins(event, order="deterministic"), contents, digest)
    if not contents:
        return Encoded(event.kind, data.decode(), _NO_CONTENTS)
    return Encoded(event.kind, _encoder.encode(slim).decode(), contents)


def decode(kind: str, data: str | bytes, contents: Mapping[str, str] | None = None) -> Event:
    """Decodes what `encode` made. `contents` are the long texts; None if there are none."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        reason = "it has an unknown kind, so a newer version of Sapwood wrote it"
        return UnreadableEvent(kind, _bytes(data), reason, newer=True)
    try:
        if contents is None:
            return decoder.decode(data)
        return decoder.decode(_put_back(data, contents))
    except KeyError:
        return unreadable(kind, data, "part of its text is missing")
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return unreadable(kind, data, str(error) or type(error).__name__)


def unreadable(kind: str, data: str | bytes, reason: str) -> UnreadableEvent:
    """Stands for a damaged event of a known kind."""
    return UnreadableEvent(kind, _bytes(data), reason)


def _bytes(data: str | bytes) -> bytes:
    return data.encode("utf-8", "replace") if isinstance(data, str) else data


def _take_out(value: Any, contents: dict[str, str], digest: Callable[[str], str]) -> Any:
    # Compares exact types instead of using `match`: an import spends much of its time here.
    kind: type = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str:
        if len(value) < LARGE:
            return value
        hashed = digest(value)
        contents[hashed] = value
        return {_PLACE: hashed}
    if kind is dict:
        return {key: _take_out(item, contents, digest) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_take_out(item, contents, digest) for item in value]
    return value


def _put_back(data: str | bytes, contents: Mapping[str, str]) -> bytes:
    """The JSON with the long texts. Raises KeyError if one is missing."""
    return _OF_CONTENT.sub(lambda found: _encoder.encode(contents[found[1].decode()]), _bytes(data))
