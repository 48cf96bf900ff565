"""What a turn is made of: the parts of prompts, replies and tool results.

Neutral between providers. Arguments of a tool call stay the text that the model wrote, because
re-encoding them would change what a replay sends.
"""

from typing import Literal

from msgspec import Struct

__all__ = [
    "Ended",
    "Got",
    "Note",
    "Part",
    "PromptPart",
    "ReplyPart",
    "Said",
    "Text",
    "Thinking",
    "ToolCall",
    "Usage",
]


class Text(Struct, frozen=True, tag="text", gc=False):
    """Words of whoever speaks.

    >>> Text("Is it cold in Oslo?")
    Text(text='Is it cold in Oslo?')
    """

    text: str


class Note(Struct, frozen=True, tag="note", gc=False):
    """Words that reach the model with a prompt but are not the user's own.

    `mail` came from another agent, `delegated` was handed to a child, `self` is what an agent
    left for itself before it rewound, `program` was added by the program that ran it all.

    >>> Note("mail", "The build is red.", source="abc123").origin
    'mail'
    """

    origin: Literal["mail", "delegated", "self", "program"]
    text: str
    source: str = ""


class Thinking(Struct, frozen=True, tag="thinking", gc=False):
    """A model's reasoning. Only the provider that signed it gets it back.

    >>> Thinking("Oslo is north.", provider="anthropic", signature="c2ln").provider
    'anthropic'
    """

    text: str
    provider: str = ""
    signature: str = ""


class ToolCall(Struct, frozen=True, tag="call", gc=False):
    """A tool that the model wants to run; `args` is JSON text as the model wrote it.

    >>> ToolCall("1", "weather", '{"city": "Oslo"}').name
    'weather'
    """

    id: str
    name: str
    args: str = "{}"


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a provider reported for one call, or the sum of several.

    `input` counts everything sent, cached or not. `cost` is in millionths of a dollar, 0 while
    nobody knows the price.

    >>> (Usage(input=1_200, output=80) + Usage(input=1_300, cache_read=1_200)).input
    2500
    """

    input: int
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cost + other.cost,
        )


class Said(Struct, frozen=True, tag="said", omit_defaults=True, gc=False):
    """A message of the model, in a turn that is recorded as a whole.

    >>> Said((Text("Let me look."), ToolCall("1", "weather"))).parts[1].name
    'weather'
    """

    parts: tuple["ReplyPart", ...]
    model: str = ""
    usage: Usage | None = None


class Got(Struct, frozen=True, tag="got", omit_defaults=True, gc=False):
    """The result of a tool call, in a turn that is recorded as a whole.

    `added` and `removed` count lines of a file, where the program that ran the tool counted them.

    >>> Got("1", "no such city", error=True).error
    True
    """

    call: str
    content: str
    error: bool = False
    added: int = 0
    removed: int = 0


Ended = Literal["done", "length", "refused"]
"""How a reply ended: as it should, at the limit of its length, or by the provider's filter."""

PromptPart = Text | Note
ReplyPart = Text | Thinking | ToolCall
Part = Text | Note | Thinking | ToolCall
