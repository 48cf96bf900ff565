"""Counts tokens with a simple rule: four bytes are one token. Pure."""

from msgspec import Struct

from scripted_model.conversation import ReplyPart, Text, Thinking, ToolCall


class Segment(Struct, frozen=True):
    """A section of a request, in the order in which the provider reads it.

    `cache_ttl` is the lifetime of the cache breakpoint at its end, if there is one.
    """

    data: bytes
    cache_ttl: str | None = None
    salt: bytes = b""
    """Bytes that are part of the cache key but are not counted."""


class TokenUsage(Struct, frozen=True):
    """The tokens of one call. `input` is the whole input, cached or not."""

    input: int
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    """The part of `cache_write` with a lifetime of one hour."""
    output: int = 0
    thinking: int = 0
    """The part of `output` that is thinking."""

    @property
    def uncached(self) -> int:
        """Input tokens that were neither read from the cache nor written to it."""
        return self.input - self.cache_read - self.cache_write

    def scaled(self, total: int) -> "TokenUsage":
        """The same proportions for another input.

        >>> TokenUsage(100, cache_read=80, cache_write=10).scaled(1_000).cache_read
        800
        """
        whole = max(1, self.input)
        return TokenUsage(
            total,
            self.cache_read * total // whole,
            self.cache_write * total // whole,
            self.cache_write_1h * total // whole,
            self.output,
            self.thinking,
        )


def tokens(size: int) -> int:
    """The tokens of this number of bytes.

    >>> tokens(10)
    3
    """
    return -(-size // 4)


def part_text(part: ReplyPart) -> str:
    """The text of a part that is counted and streamed."""
    match part:
        case Text(text=text) | Thinking(text=text):
            return text
        case ToolCall(args=args):
            return args


def output_tokens(parts: tuple[ReplyPart, ...]) -> int:
    """The tokens of a reply, including thinking."""
    return max(1, sum(tokens(_size(part)) for part in parts))


def thought_tokens(parts: tuple[ReplyPart, ...]) -> int:
    """The tokens of the thinking in a reply."""
    return sum(tokens(_size(part)) for part in parts if isinstance(part, Thinking))


def _size(part: ReplyPart) -> int:
    name = len(part.name) if isinstance(part, ToolCall) else 0
    return len(part_text(part).encode()) + name
