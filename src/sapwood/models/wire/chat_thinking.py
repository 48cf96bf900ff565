"""What a server of the chat format wants back with a message of its model. Does no I/O.

Most want their thinking back in the field that it came in. Servers that pass on Gemini refuse a
history without its signatures: OpenRouter sends them in `reasoning_details`, Google itself in the
`extra_content` of tool calls. Both go back as they came, to the server that sent them.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from sapwood.models.wire.signatures import THINKING_FIELDS

_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""The types of details that come in pieces, and the field that has the text of a piece."""
_Detail = dict[str, object]

_objects = msgspec.json.Decoder(list[_Detail])


class ChatThinking(Struct, omit_defaults=True):
    """What goes back with one answer.

    `field` is the field that the thinking came in, and `details` are its `reasoning_details`.
    `calls` has the `extra_content` of tool calls by their place in the answer, because their ids
    may change.
    """

    field: str = ""
    details: list[Raw] = []
    calls: dict[int, Raw] = {}


def encode_chat_thinking(thinking: ChatThinking) -> str:
    """The signature that holds what goes back; empty if nothing does.

    >>> encode_chat_thinking(ChatThinking("reasoning")), encode_chat_thinking(ChatThinking())
    ('reasoning', '')
    """
    if thinking.details or thinking.calls:
        return msgspec.json.encode(thinking).decode()
    return thinking.field


def decode_chat_thinking(signature: str) -> ChatThinking | None:
    """What the signature holds, or None if it is none of a chat server."""
    if signature in THINKING_FIELDS:
        return ChatThinking(signature)
    try:
        thinking = msgspec.json.decode(signature, type=ChatThinking)
    except msgspec.DecodeError:
        return None
    if thinking.field and thinking.field not in THINKING_FIELDS:
        return None
    return thinking if thinking.details or thinking.calls else None


class ReasoningDetails:
    """The `reasoning_details` of one answer, with the pieces of a text put together."""

    def __init__(self) -> None:
        self._details: list[_Detail] = []

    def add(self, raw: Raw) -> str:
        """Adds the details of one delta. Returns the text in them."""
        try:
            details = _objects.decode(raw)
        except (msgspec.MsgspecError, RecursionError):
            return ""
        return "".join(text for detail in details for text in self._added(detail))

    def encoded(self) -> list[Raw]:
        """All details, in order."""
        return [Raw(msgspec.json.encode(detail)) for detail in self._details]

    def _added(self, detail: _Detail) -> Iterator[str]:
        field = _TEXTS.get(str(detail.get("type")))
        last = self._details[-1] if self._details else {}
        if field is None or not _continues(last, detail):
            self._details.append(detail)
        else:
            text = _text(last, field) + _text(detail, field)
            given = {name: value for name, value in detail.items() if value is not None}
            self._details[-1] = last | given | {field: text}
        if field is not None:
            yield _text(detail, field)


def _continues(last: _Detail, detail: _Detail) -> bool:
    return all(last.get(name) == detail.get(name) for name in ("type", "index"))


def _text(detail: _Detail, field: str) -> str:
    text = detail.get(field)
    return text if isinstance(text, str) else ""
