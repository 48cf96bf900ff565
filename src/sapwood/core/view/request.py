"""A request, the same for all providers, and its hash."""

import hashlib
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from sapwood.core.content import File, Text, Thinking, ToolCall

__all__ = [
    "Block",
    "Message",
    "MessagePart",
    "Request",
    "SignedSummary",
    "ToolResult",
    "digest",
]


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
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     agent = wood.start("demo", model="gpt-5", system="Be brief.")
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


_newest: list[tuple[Request, str]] = []
"""At most one request and its digest: a request is hashed when it is made and when it is recorded.
Requests never change."""


def digest(request: Request) -> str:
    """The SHA-256 of the request's canonical bytes."""
    for known, hashed in tuple(_newest):
        same_messages = known.messages is request.messages
        if same_messages and (known.model, known.system) == (request.model, request.system):
            return hashed
    hashed = hashlib.sha256(_encoder.encode(request)).hexdigest()
    _newest[:] = [(request, hashed)]
    return hashed
