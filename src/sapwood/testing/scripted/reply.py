"""What the scripted model answers with: parts of a message, and how it is delivered.

>>> Reply.of(think("Oslo is north."), call("weather", city="Oslo"), usage=5_000).usage
5000
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall
from sapwood.testing.scripted.jsontree import encode

__all__ = ["Part", "Reply", "Step", "call", "fail", "say", "think", "to_reply"]


class Reply(Struct, frozen=True):
    """One answer. Times are seconds, lengths are characters of what the model says.

    >>> Reply.of("Hello there.", cut=5, usage=90_000).cut
    5
    """

    parts: tuple[ReplyPart, ...] = ()
    usage: int | None = None
    """Input tokens to report, instead of those counted."""
    out: int | None = None
    """Output tokens to report, instead of those counted."""
    sleep: float = 0.0
    """Wait before the first byte."""
    stall: float = 0.0
    """Fall silent after the first piece of the reply."""
    cut: int | None = None
    """Drop the connection after so many characters."""
    status: int | None = None
    """Fail with this HTTP status."""
    at: int | None = None
    """Fail only after so many characters, inside the stream, as an overloaded provider does."""
    retry_after: float | None = None
    """What a failure says of when to come back, instead of the server's setting."""
    limit: int | None = None
    """Run out of tokens after so many characters; in most streams a call ends in the middle."""

    @classmethod
    def of(
        cls,
        *parts: "Part",
        usage: int | None = None,
        out: int | None = None,
        sleep: float = 0.0,
        stall: float = 0.0,
        cut: int | None = None,
        limit: int | None = None,
    ) -> "Reply":
        """A reply of these parts; plain text is said.

        >>> Reply.of("Hello.", cut=3).parts
        (Text(text='Hello.'),)
        """
        said = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        return cls(said, usage, out, sleep, stall, cut, limit=limit)


Part: TypeAlias = str | Text | Thinking | ToolCall
Step: TypeAlias = Part | Reply | Sequence[Part]


def say(text: str) -> Text:
    """The model says this.

    >>> say("Hello.")
    Text(text='Hello.')
    """
    return Text(text)


def think(text: str) -> Thinking:
    """The model thinks this, signed by the server in each provider's way.

    >>> think("Oslo is north.").text
    'Oslo is north.'
    """
    return Thinking(text)


def call(name: str, args: dict[str, object] | None = None, /, **named: object) -> ToolCall:
    """The model calls this tool. The server makes the id up.

    >>> call("weather", city="Oslo").args
    '{"city":"Oslo"}'
    """
    return ToolCall("", name, encode({**(args or {}), **named}).decode())


def fail(status: int, *, at: int | None = None, retry_after: float | None = None) -> Reply:
    """The provider fails: 429 too many requests, 529 overloaded, 500 and so on.

    >>> fail(529).status
    529
    """
    return Reply(status=status, at=at, retry_after=retry_after)


def to_reply(step: Step) -> Reply:
    """The reply that a step of a script stands for.

    >>> to_reply(["Let me look.", call("weather")]) == Reply.of("Let me look.", call("weather"))
    True
    """
    if isinstance(step, Reply):
        return step
    if isinstance(step, (str, Text, Thinking, ToolCall)):
        return Reply.of(step)
    return Reply.of(*step)
