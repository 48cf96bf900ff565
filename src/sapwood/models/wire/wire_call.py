"""The values that every wire format takes and returns: a call, and what its answer was."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Raw, Struct, structs

from sapwood.core.content import ReplyPart, Text, ToolCall, Usage
from sapwood.core.model_calls import CallHints, CallReport, Delta, ToolSpec
from sapwood.core.view import Message, Request, ToolResult
from sapwood.core.view.request import MessagePart
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.http_client import HttpPost
from sapwood.models.wire.sse import ServerEvent

Ending = Literal["done", "length", "refused", "broken", "cut"]
"""How an answer ended; `cut` means that the stream stopped without an end."""

_encode = msgspec.json.Encoder().encode


class WireCall(Struct, frozen=True):
    """One call. `settings` are checked parameters, `schema` is the JSON Schema of the answer.

    `hints` are what the provider may use besides; a call of no agent has none.
    """

    route: ModelRoute
    key: str
    request: Request
    tools: Sequence[ToolSpec] = ()
    settings: Mapping[str, Any] = {}
    schema: dict[str, Any] | None = None
    hints: CallHints = CallHints()

    @property
    def system(self) -> list[str]:
        """The system prompt and the pins, in order."""
        return [block.text for block in self.request.system if block.text.strip()]

    @property
    def tool_choice(self) -> tuple[str, str]:
        """`auto`, `none`, `required` or `named`, and the name of the tool."""
        choice = self.settings.get("tool_choice", "auto")
        return (choice, "") if isinstance(choice, str) else ("named", str(choice[0]))


class WireReply(Struct):
    """What a provider sent: parts, the model that answered, usage, the end and its reason.

    `report` is what it says about the call.
    """

    parts: list[ReplyPart]
    model: str
    usage: Usage | None
    ending: Ending
    reason: str
    report: CallReport = CallReport()


def ending_of(reason: str, known: Mapping[str, Ending], parts: Sequence[ReplyPart]) -> Ending:
    """How an answer ended for which the provider gave a reason.

    Servers have names of their own for the end of a complete answer. So a reason that is not known
    is judged by what arrived: the answer is complete if it has a text, or a call that is whole.
    """
    if ending := known.get(reason):
        return ending
    said = [part for part in parts if isinstance(part, Text | ToolCall)]
    if not said or (isinstance(said[-1], ToolCall) and not is_json_object(said[-1].args)):
        return "broken"
    return "done"


def is_json_object(args: str) -> bool:
    """Whether the arguments of a call are complete."""
    try:
        msgspec.json.decode(args, type=dict[str, Raw])
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


class AnswerReader(Protocol):
    """Reads the events of one answer. Unknown events and fields are passed over."""

    is_complete: bool
    """Whether the last event of the answer was read."""

    def feed(self, event: ServerEvent) -> list[Delta]:
        """The deltas of an event. Raises `ProviderError` and `msgspec.MsgspecError`."""
        ...

    def reply(self) -> WireReply:
        """The answer, as far as it was read."""
        ...


class WireFormat(Struct, frozen=True):
    """A wire format: how a call is written, and how its answer is read.

    `count_of` writes the question how many tokens the call has; None if the API has none.
    """

    post_of: Callable[[WireCall], HttpPost]
    reader: Callable[[ModelRoute], AnswerReader]
    count_of: Callable[[WireCall], HttpPost] | None = None


def encode_body(
    fields: Mapping[str, object],
    history: str,
    items: Sequence[bytes],
    after: Mapping[str, object] | None = None,
) -> bytes:
    """The body of a request, with the history as its last field but for those `after` it.

    Each item depends only on the messages up to its own, so the body up to the end of its history
    is the beginning of the next body, unless something other than the end of the history changed.
    Fields that change with each call come `after` the history.

    >>> encode_body({"model": "m"}, "messages", [b'"a"', b'"b"'])
    b'{"model":"m","messages":["a","b"]}'
    >>> encode_body({}, "input", [b'"a"'], {"n": 1})
    b'{"input":["a"],"n":1}'
    """
    head = _encode(fields)[:-1]
    comma = b"," if len(head) > 1 else b""
    tail = b"," + _encode(after)[1:] if after else b"}"
    return b"".join([head, comma, _encode(history), b":[", b",".join(items), b"]", tail])


_CallIds = Sequence[tuple[str, str]]
"""The ids of the calls of one message: each as it was, and as it is sent."""


class _EncodedHistory(Struct, frozen=True):
    """The items of each message of a history, its call ids, and what was known after it."""

    route: ModelRoute
    messages: Sequence[Message]
    items: Sequence[Sequence[bytes]]
    states: Sequence[str]
    calls: Sequence[_CallIds]


_newest: list[_EncodedHistory] = []
"""At most one. The next history mostly begins with the same messages, which never change."""


def encode_history(
    call: WireCall, encode: Callable[[Message, ModelRoute, str], tuple[Sequence[bytes], str]]
) -> list[bytes]:
    """The items of a history, those of messages that were encoded before as they were then.

    A call whose id was used before gets another one, and so does its result: some servers number
    their calls anew in each answer, and others refuse a history in which an id occurs twice.
    `encode` gets a message, the route, and what it returned beside the items of the message before.
    """
    messages, shared = call.request.messages, 0
    known = next(iter(_newest), None)
    items: list[Sequence[bytes]] = []
    states: list[str] = []
    calls: list[_CallIds] = []
    if known is not None and known.route == call.route:
        for mine, its in zip(known.messages, messages, strict=False):
            if mine is not its:
                break
            shared += 1
        items, states = [*known.items[:shared]], [*known.states[:shared]]
        calls = [*known.calls[:shared]]
    seen = {sent for ids in calls for _, sent in ids}
    for message in messages[shared:]:
        message = _with_results_of(calls[-1] if calls else (), message)
        message, ids = _with_own_ids(message, seen)
        made, state = encode(message, call.route, states[-1] if states else "")
        items.append(made)
        states.append(state)
        calls.append(ids)
    _newest[:] = [_EncodedHistory(call.route, messages, items, states, calls)]
    return [item for made in items for item in made]


def _with_own_ids(message: Message, seen: set[str]) -> tuple[Message, _CallIds]:
    """The message with ids of calls that are not in `seen`, and its ids, which are added to it."""
    parts: list[MessagePart] = []
    ids: list[tuple[str, str]] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            sent = part.id
            while sent in seen:
                sent = f"{sent}-{len(seen)}"
            seen.add(sent)
            ids.append((part.id, sent))
            part = part if sent == part.id else structs.replace(part, id=sent)
        parts.append(part)
    return (message if _are_same(ids) else Message(message.role, tuple(parts))), ids


def _with_results_of(ids: _CallIds, message: Message) -> Message:
    """The message with the results of the calls before it, under the ids that were sent."""
    if _are_same(ids):
        return message
    waiting = list(ids)
    parts: list[MessagePart] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            found = next((each for each in waiting if each[0] == part.call), None)
            if found is not None:
                waiting.remove(found)
                part = structs.replace(part, call=found[1])
        parts.append(part)
    return Message(message.role, tuple(parts))


def _are_same(ids: _CallIds) -> bool:
    return all(old == sent for old, sent in ids)


def tool_schema(tool: ToolSpec) -> Raw:
    """The JSON Schema of a tool's arguments, as it is. Raises `msgspec.DecodeError`."""
    text = tool.schema.strip() or '{"type":"object"}'
    msgspec.json.decode(text)
    return Raw(text.encode())
