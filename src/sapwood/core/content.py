"""What a turn is made of: the parts of prompts, replies and tool results.

Neutral between providers. Arguments of a tool call stay the text that the model wrote, because
re-encoding them would change what a replay sends.
"""

from typing import Literal

from msgspec import Struct

__all__ = ["Note", "Part", "PromptPart", "ReplyPart", "Text", "Thinking", "ToolCall", "Usage"]


class Text(Struct, frozen=True, tag="text"):
    """Words of whoever speaks."""

    text: str


class Note(Struct, frozen=True, tag="note"):
    """Words that reach the model with a prompt but are not the user's own.

    `mail` came from another agent, `delegated` was handed to a child, `self` is what an agent
    left for itself before it rewound.
    """

    origin: Literal["mail", "delegated", "self"]
    text: str
    source: str = ""


class Thinking(Struct, frozen=True, tag="thinking"):
    """A model's reasoning. Only the provider that signed it gets it back."""

    text: str
    provider: str = ""
    signature: str = ""


class ToolCall(Struct, frozen=True, tag="call"):
    """A tool that the model wants to run; `args` is JSON text as the model wrote it."""

    id: str
    name: str
    args: str = "{}"


class Usage(Struct, frozen=True, omit_defaults=True):
    """What a provider reported for one call. `input` counts everything sent, cached or not."""

    input: int
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


PromptPart = Text | Note
ReplyPart = Text | Thinking | ToolCall
Part = Text | Note | Thinking | ToolCall
