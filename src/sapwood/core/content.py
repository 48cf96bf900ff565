"""The parts of prompts, replies and tool results, the same for all providers.

The arguments of a tool call are kept as the text that the model wrote, because encoding them again
would change what a replay sends.
"""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from sapwood.core.file_part import File as File


class Text(Struct, frozen=True, tag="text", gc=False):
    """Text of the user or of the model.

    >>> Text("Is it cold in Oslo?")
    Text(text='Is it cold in Oslo?')
    """

    text: str


class Note(Struct, frozen=True, tag="note", gc=False):
    """Text in a prompt that the user did not write.

    `mail` is from another agent, `delegated` is a goal that went to a child, `self` is a note that
    an agent wrote to itself before a rewind, `program` was added by the program of an imported
    conversation, `parent` tells a child that it is one; its source is the name of the parent.
    `shell` is the output of a command that the user ran; its source is the command.
    `fence` marks the end of the text in a request; its author does not know it.

    >>> Note("mail", "The build is red.", source="abc123").origin
    'mail'
    """

    origin: Literal["mail", "delegated", "self", "program", "parent", "shell"]
    text: str
    source: str = ""
    fence: str | UnsetType = UNSET


class Thinking(Struct, frozen=True, tag="thinking", gc=False):
    """A model's reasoning. It is sent back only to the provider that signed it.

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
    """The tokens that a provider reported for one call, or the sum of several calls.

    `input` includes cached tokens. `cost` is in millionths of a dollar, 0 if the price is unknown.
    `cache_hour` is the part of `cache_write` that is kept for an hour and costs more.

    >>> (Usage(input=1_200, output=80) + Usage(input=1_300, cache_read=1_200)).input
    2500
    """

    input: int
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: int = 0
    cache_hour: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cost + other.cost,
            self.cache_hour + other.cache_hour,
        )


class RecordedReply(Struct, frozen=True, tag="said", omit_defaults=True, gc=False):
    """A message of the model in a recorded turn.

    >>> RecordedReply((Text("Let me look."), ToolCall("1", "weather"))).parts[1].name
    'weather'
    """

    parts: tuple["ReplyPart", ...]
    model: str = ""
    usage: Usage | None = None


class RecordedResult(Struct, frozen=True, tag="got", omit_defaults=True, gc=False):
    """The result of a tool call in a recorded turn.

    `added` and `removed` count lines of a file, if the program that ran the tool counted them.

    >>> RecordedResult("1", "no such city", error=True).error
    True
    """

    call: str
    content: str
    error: bool = False
    added: int = 0
    removed: int = 0
    files: tuple[File, ...] = ()


Ended = Literal["done", "length", "refused", "cut"]
"""How a reply ended: completely, at the length limit, by a provider's filter, or with its turn."""

PromptPart = Text | Note | File
ReplyPart = Text | Thinking | ToolCall | File
Part = Text | Note | Thinking | ToolCall | File
