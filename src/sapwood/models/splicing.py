"""Sends a history that was sent before without converting it again.

Between two calls of a conversation only its end is new, but a provider's library validates and
converts all of it each time, which takes far longer than to send it. So what went out is kept as
bytes, under a digest of the messages that it stands for; the next call converts the new messages
only, and the old bytes are put in front of them. That the history is sent byte for byte as before
is what a provider's prompt cache asks for anyway.

What is kept ends before the last message of the user: the next call converts that one again, and
so every converted piece starts with the user, which any provider's library accepts.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from sapwood.core.view import Message
from sapwood.models.names import Wire

__all__ = ["Histories", "Plan", "spliced"]

_FIELD: Mapping[Wire, bytes] = {
    "messages": b"messages",
    "responses": b"input",
    "chat": b"messages",
    "gemini": b"contents",
}
_STANDING = frozenset({"system", "developer"})
_RESULT = "function_call_output"

_body = msgspec.json.Decoder(dict[str, Raw])
_list = msgspec.json.Decoder(list[Raw])
_packer = msgspec.msgpack.Encoder()


class _Item(Struct):
    role: str = ""
    type: str = ""


_item = msgspec.json.Decoder(_Item)


class Plan(Struct):
    """How one call sends its history: `start` messages as the bytes `past`, the rest converted.

    `mark` is where what this call sends will be kept, in place of `used`.
    """

    wire: Wire
    start: int = 0
    past: bytes = b""
    mark: bytes | None = None
    used: bytes | None = None


class Histories:
    """What was sent, as much as fits into `most` bytes; what rested longest goes first."""

    def __init__(self, most: int = 64 * 2**20) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()

    def plan(self, wire: Wire, scope: bytes, messages: Sequence[Message]) -> Plan:
        """How to send these messages; `scope` is everything else that the conversion heeds."""
        marks = _marks(scope, messages)
        newest = len(messages) - 1
        mark = marks[newest] if messages[newest].role == "user" and newest > 0 else None
        for index in range(newest, 0, -1):
            if messages[index].role == "user" and marks[index] in self._kept:
                return Plan(wire, index, self._kept[marks[index]], mark, marks[index])
        return Plan(wire, mark=mark)

    def keep(self, plan: Plan, items: bytes) -> None:
        """Keeps the bytes of all messages but the last, once a plan."""
        mark, plan.mark = plan.mark, None
        if mark is None:
            return
        self._drop(mark)
        if plan.used is not None:
            self._drop(plan.used)
        self._kept[mark] = items
        self._size += len(items)
        while self._size > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, mark: bytes) -> None:
        self._size -= len(self._kept.pop(mark, b""))


def _marks(scope: bytes, messages: Sequence[Message]) -> list[bytes]:
    """A digest of the messages before each message."""
    digest = hashlib.sha256(scope)
    marks: list[bytes] = []
    for message in messages:
        marks.append(digest.digest())
        digest.update(_packer.encode(message))
    return marks


def spliced(body: bytes, plan: Plan) -> tuple[bytes, bytes]:
    """The body with the past put in, and what is to be kept: all but the user's last message."""
    name = _FIELD[plan.wire].decode()
    fields = _body.decode(body)
    items = _list.decode(fields[name])
    lead = 0
    while lead < len(items) and _item.decode(items[lead]).role in _STANDING:
        lead += 1
    end = len(items)
    while end > lead and _is_users(items[end - 1]):
        end -= 1
    past = [plan.past] if plan.past else []
    kept = b",".join([*past, *items[lead:end]])
    if not past:
        return body, kept
    whole = b",".join([*items[:lead], kept, *items[end:]])
    fields[name] = Raw(b"[" + whole + b"]")
    return b"{" + b",".join(_field(*each) for each in fields.items()) + b"}", kept


def _field(name: str, value: Raw) -> bytes:
    return msgspec.json.encode(name) + b":" + bytes(value)


def _is_users(item: Raw) -> bool:
    known = _item.decode(item)
    return known.role in ("user", "tool") or known.type == _RESULT
