"""A request, the same for all providers, and its hash."""

import hashlib
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from sapwood.core.content import File, Text, Thinking, ToolCall


class ToolResult(Struct, frozen=True, tag="result", omit_defaults=True, gc=False):
    """The result of a tool call: whole, shortened, or as a stub.

    >>> ToolResult("1", "weather", "-3 degrees").content
    '-3 degrees'
    """

    call: str
    name: str
    content: str
    error: bool = False
    files: tuple[File, ...] = ()


class SignedSummary(Text, frozen=True, tag="summary", gc=False):
    """A summary that a provider wrote: its words, and the signature by which it knows them again.

    Other providers get the text.
    """

    words: str
    provider: str
    signature: str


MessagePart = Text | Thinking | ToolCall | ToolResult | File | SignedSummary


class Block(Struct, frozen=True, gc=False):
    """A part of the system prompt: instructions that were read, the prompt itself, or a pin.

    >>> Block("pin", "style", "Be brief.").kind
    'pin'
    """

    kind: Literal["system", "pin", "instructions"]
    name: str
    text: str


class Message(Struct, frozen=True, gc=False):
    """One message. Tool results are in messages of the user.

    >>> Message("assistant", (Text("Let me look."), ToolCall("1", "weather"))).text
    'Let me look.'
    """

    role: Literal["user", "assistant"]
    parts: tuple[MessagePart, ...]

    @property
    def text(self) -> str:
        """The text without thinking, tool calls and results."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text))


class Request(Struct, frozen=True, gc=False):
    """A request to a model. Each provider has a mapping to its own format.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     agent = db.start("demo", model="gpt-5", system="Be brief.")
    ...     _ = agent.record("What is 6 x 7?", "42")
    ...     request = agent.request()
    ...     print(request.model, [block.text for block in request.system])
    ...     print([(message.role, message.text) for message in request.messages])
    gpt-5 ['Be brief.']
    [('user', 'What is 6 x 7?'), ('assistant', '42')]
    """

    model: str
    system: tuple[Block, ...]
    messages: tuple[Message, ...]

    def flat(self) -> Iterator[tuple[str, Block | MessagePart]]:
        """Every block and part in order, with its role: the order in which providers cache."""
        for block in self.system:
            yield "system", block
        for message in self.messages:
            for part in message.parts:
                yield message.role, part

    def files(self) -> Iterator[File]:
        """Every file of the request, for counting."""
        for _, part in self.flat():
            if isinstance(part, File):
                yield part
            elif isinstance(part, ToolResult):
                yield from part.files

    def texts(self) -> Iterator[str]:
        """Every text of the request, for counting."""
        for _, part in self.flat():
            match part:
                case ToolCall():
                    yield part.name
                    yield part.args
                case ToolResult():
                    yield part.content
                case _:
                    yield part.text


_encoder = msgspec.json.Encoder(order="deterministic")


class _Hashed(Struct, frozen=True):
    """A request, its digest, and the hash of its bytes before its last message."""

    request: Request
    digest: str
    before_last: Any

    def begins(self, request: Request) -> bool:
        """Whether that request has the same bytes before the last message of this one."""
        mine = self.request
        if (mine.model, mine.system) != (request.model, request.system):
            return False
        if len(mine.messages) > len(request.messages):
            return False
        pairs = zip(mine.messages[:-1], request.messages, strict=False)
        return all(known is its or known == its for known, its in pairs)


_newest: list[_Hashed] = []
"""At most one. A request is hashed when it is made and when it is recorded, and the next one mostly
begins with it. Requests never change."""


def digest(request: Request) -> str:
    """The SHA-256 of the request's canonical bytes."""
    known = next(iter(_newest), None)
    if known is not None and known.begins(request):
        if known.request.messages is request.messages:
            return known.digest
        count = max(0, len(known.request.messages) - 1)
        hashed = known.before_last.copy()
        hashed.update(_items(request.messages[count:-1], count))
    else:
        fixed = Request(request.model, request.system, request.messages[:-1])
        hashed = hashlib.sha256(_encoder.encode(fixed).removesuffix(b"]}"))
    whole = hashed.copy()
    whole.update(_items(request.messages[-1:], len(request.messages) - 1) + b"]}")
    _newest[:] = [_Hashed(request, whole.hexdigest(), hashed)]
    return whole.hexdigest()


def _items(messages: tuple[Message, ...], before: int) -> bytes:
    """The bytes of messages in a list that has so many before them."""
    data = _encoder.encode(messages)[1:-1]
    return b"," + data if data and before > 0 else data
