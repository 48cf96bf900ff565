"""Counting as providers do, with a plain rule: four bytes are a token."""

from msgspec import Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall

__all__ = ["Segment", "Spent", "output_tokens", "spoken", "thought_tokens", "tokens"]


class Segment(Struct, frozen=True):
    """A stretch of a request in the order in which a provider reads it.

    `mark` is the lifetime of a cache breakpoint at its end, for providers that have them.
    """

    data: bytes
    mark: str | None = None
    salt: bytes = b""
    """What tells it from others without being counted."""


class Spent(Struct, frozen=True):
    """What one call cost. `input` is everything sent; `read` and `written` are parts of it."""

    input: int
    read: int = 0
    written: int = 0
    written_1h: int = 0
    """That part of `written` which is kept for an hour."""
    output: int = 0
    thought: int = 0
    """That part of `output` which was thinking."""

    @property
    def fresh(self) -> int:
        """Input that has nothing to do with a cache."""
        return self.input - self.read - self.written

    def scaled(self, total: int) -> "Spent":
        """The same shares of another total.

        >>> Spent(100, read=80, written=10).scaled(1_000).read
        800
        """
        whole = max(1, self.input)
        return Spent(
            total,
            self.read * total // whole,
            self.written * total // whole,
            self.written_1h * total // whole,
            self.output,
            self.thought,
        )


def tokens(size: int) -> int:
    """Tokens in so many bytes.

    >>> tokens(10)
    3
    """
    return -(-size // 4)


def spoken(part: ReplyPart) -> str:
    """What of a part is counted and streamed."""
    match part:
        case Text(text=text) | Thinking(text=text):
            return text
        case ToolCall(args=args):
            return args


def output_tokens(parts: tuple[ReplyPart, ...]) -> int:
    """Tokens of a reply, thinking included."""
    return max(1, sum(tokens(_size(part)) for part in parts))


def thought_tokens(parts: tuple[ReplyPart, ...]) -> int:
    """Tokens of the thinking in a reply."""
    return sum(tokens(_size(part)) for part in parts if isinstance(part, Thinking))


def _size(part: ReplyPart) -> int:
    name = len(part.name) if isinstance(part, ToolCall) else 0
    return len(spoken(part).encode()) + name
