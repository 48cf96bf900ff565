"""Caches the history of a conversation as the bytes that were sent.

Between two calls of a conversation only its end is new, but a provider's library validates and
converts all of it each time, which takes much longer than sending it. So the bytes that were sent
are cached under a digest of their messages. The next call converts only the new messages and puts
the cached bytes in front of them. Providers' prompt caches need an unchanged history anyway.

The cached part ends before the last message of the user. The next call converts that message
again, so every converted part starts with the user, as the providers' libraries require.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from sapwood.core.view import Message
from sapwood.models.model_routes import Wire

__all__ = ["HistoryCache", "SendPlan", "splice_history"]

_FIELD: Mapping[Wire, bytes] = {
    "messages": b"messages",
    "responses": b"input",
    "chat": b"messages",
    "gemini": b"contents",
}
_SYSTEM_ROLES = frozenset({"system", "developer"})
_RESULT_TYPE = "function_call_output"

_body = msgspec.json.Decoder(dict[str, Raw])
_list = msgspec.json.Decoder(list[Raw])
_packer = msgspec.msgpack.Encoder()


class _Item(Struct):
    role: str = ""
    type: str = ""


_item = msgspec.json.Decoder(_Item)


class SendPlan(Struct):
    """How one call sends its history: the first `start` messages as the bytes `cached`.

    What the call sends is stored under the digest `store_as`, and replaces the entry `used`.
    """

    wire: Wire
    start: int = 0
    cached: bytes = b""
    store_as: bytes | None = None
    used: bytes | None = None


class HistoryCache:
    """The histories that were sent, up to `max_bytes`. The least recently stored goes first."""

    def __init__(self, max_bytes: int = 64 * 2**20) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()

    def plan(self, wire: Wire, scope: bytes, messages: Sequence[Message]) -> SendPlan:
        """How to send these messages. `scope` is everything else that the conversion depends on."""
        digests = _digests(scope, messages)
        newest = len(messages) - 1
        store_as = digests[newest] if messages[newest].role == "user" and newest > 0 else None
        for index in range(newest, 0, -1):
            if messages[index].role == "user" and digests[index] in self._entries:
                cached = self._entries[digests[index]]
                return SendPlan(wire, index, cached, store_as, digests[index])
        return SendPlan(wire, store_as=store_as)

    def store(self, plan: SendPlan, items: bytes) -> None:
        """Stores the bytes of all messages but the last; a second call for a plan does nothing."""
        digest, plan.store_as = plan.store_as, None
        if digest is None:
            return
        self._drop(digest)
        if plan.used is not None:
            self._drop(plan.used)
        self._entries[digest] = items
        self._size += len(items)
        while self._size > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, digest: bytes) -> None:
        self._size -= len(self._entries.pop(digest, b""))


def _digests(scope: bytes, messages: Sequence[Message]) -> list[bytes]:
    """For each message the digest of all messages before it."""
    digest = hashlib.sha256(scope)
    digests: list[bytes] = []
    for message in messages:
        digests.append(digest.digest())
        digest.update(_packer.encode(message))
    return digests


def splice_history(body: bytes, plan: SendPlan) -> tuple[bytes, bytes]:
    """The body with the cached history put in, and the part to store for the next call."""
    name = _FIELD[plan.wire].decode()
    fields = _body.decode(body)
    items = _list.decode(fields[name])
    lead = 0
    while lead < len(items) and _item.decode(items[lead]).role in _SYSTEM_ROLES:
        lead += 1
    end = len(items)
    while end > lead and _is_from_user(items[end - 1]):
        end -= 1
    cached = [plan.cached] if plan.cached else []
    history = b",".join([*cached, *items[lead:end]])
    if not cached:
        return body, history
    whole = b",".join([*items[:lead], history, *items[end:]])
    fields[name] = Raw(b"[" + whole + b"]")
    return b"{" + b",".join(_field(*each) for each in fields.items()) + b"}", history


def _field(name: str, value: Raw) -> bytes:
    return msgspec.json.encode(name) + b":" + bytes(value)


def _is_from_user(item: Raw) -> bool:
    decoded = _item.decode(item)
    return decoded.role in ("user", "tool") or decoded.type == _RESULT_TYPE
