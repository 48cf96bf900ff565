"""The reply of a script: the parts of a message, and how the server sends it.

>>> Reply.of(think("Oslo is north."), call("weather", city="Oslo"), usage=5_000).usage
5000
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from scripted_model.conversation import ReplyPart, Text, Thinking, ToolCall
from scripted_model.json_values import encode


class Reply(Struct, frozen=True):
    """One reply. Times are in seconds, lengths in characters of text, thinking and arguments.

    >>> Reply.of("Hello there.", cut=5, usage=90_000).cut
    5
    """

    parts: tuple[ReplyPart, ...] = ()
    usage: int | None = None
    """Input tokens to report instead of the counted ones."""
    out: int | None = None
    """Output tokens to report instead of the counted ones."""
    sleep: float = 0.0
    """Wait this long before the first byte."""
    stall: float = 0.0
    """Send nothing for this long after the first piece of the reply."""
    cut: int | None = None
    """Drop the connection after this many characters."""
    status: int | None = None
    """Fail with this HTTP status."""
    at: int | None = None
    """With `status`: fail inside the stream, after this many characters."""
    retry_after: float | None = None
    """The `retry-after` of an error, in seconds, instead of the setting of the server."""
    limit: int | None = None
    """Run out of tokens after this many characters. In most streams this cuts a tool call."""

    @classmethod
    def of(
        cls,
        *parts: "PartLike",
        usage: int | None = None,
        out: int | None = None,
        sleep: float = 0.0,
        stall: float = 0.0,
        cut: int | None = None,
        limit: int | None = None,
    ) -> "Reply":
        """A reply of these parts. A `str` is text.

        >>> Reply.of("Hello.", cut=3).parts
        (Text(text='Hello.'),)
        """
        said = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        return cls(said, usage, out, sleep, stall, cut, limit=limit)


PartLike: TypeAlias = str | Text | Thinking | ToolCall
ReplyLike: TypeAlias = PartLike | Reply | Sequence[PartLike]


def say(text: str) -> Text:
    """Text of the model.

    >>> say("Hello.")
    Text(text='Hello.')
    """
    return Text(text)


def think(text: str) -> Thinking:
    """Thinking of the model. The server signs it as the provider would.

    >>> think("Oslo is north.").text
    'Oslo is north.'
    """
    return Thinking(text)


def call(name: str, args: dict[str, object] | None = None, /, **named: object) -> ToolCall:
    """A tool call of the model. The server adds the id.

    >>> call("weather", city="Oslo").args
    '{"city":"Oslo"}'
    """
    return ToolCall("", name, encode({**(args or {}), **named}).decode())


def fail(status: int, *, at: int | None = None, retry_after: float | None = None) -> Reply:
    """A failure of the provider: 429 too many requests, 529 overloaded, 500 and so on.

    >>> fail(529).status
    529
    """
    return Reply(status=status, at=at, retry_after=retry_after)


def to_reply(step: ReplyLike) -> Reply:
    """Converts a text, part or list of parts to a reply.

    >>> to_reply(["Let me look.", call("weather")]) == Reply.of("Let me look.", call("weather"))
    True
    """
    if isinstance(step, Reply):
        return step
    if isinstance(step, (str, Text, Thinking, ToolCall)):
        return Reply.of(step)
    return Reply.of(*step)
