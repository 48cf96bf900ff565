"""The words of a reply that is still arriving. They stand beside the log, which keeps the reply.

Each agent has at most one such value. It is replaced while words arrive, and goes in the commit
that ends the reply.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import assert_never

from msgspec import Struct, structs

from sapwood.core.content import File, ReplyPart, Text, Thinking, ToolCall
from sapwood.core.ids import CommandId
from sapwood.core.model_calls import Delta

AwaitWatcher = Callable[[float], Awaitable[bool]]
"""Waits at most so many seconds until anybody watches the words; returns whether anybody does."""


async def always_watched(seconds: float) -> bool:
    """For a log that cannot know whether anybody watches."""
    return True


class LiveWords(Struct, frozen=True):
    """All words so far of the reply to the model call at version `asked`.

    `command` is the id of the command that stored the last of them.

    >>> words = LiveWords(7, CommandId("c"), (Text("Once upon"), ToolCall("", "shell", "")))
    >>> words.size
    10
    """

    asked: int
    command: CommandId
    parts: tuple[ReplyPart, ...]

    @property
    def size(self) -> int:
        """How much has arrived: the number of characters, and one for each tool call."""
        return size_of_words(self.parts)

    def after(self, size: int, version: int = 0) -> list[Delta]:
        """The words that someone does not have who has this much of them at a version."""
        return deltas_after(self.parts, size, version)


def size_of_words(parts: tuple[ReplyPart, ...]) -> int:
    """The number of characters of these parts, and one for each tool call."""
    return size_of_deltas(deltas_of(parts))


def size_of_deltas(deltas: Iterable[Delta]) -> int:
    """The number of characters of these deltas, and one for each tool call."""
    return sum(map(_size, deltas))


def deltas_of(parts: tuple[ReplyPart, ...]) -> list[Delta]:
    """The parts of a reply as deltas."""
    deltas: list[Delta] = []
    for part in parts:
        match part:
            case File():
                pass
            case Text(text):
                deltas.append(Delta("text", text))
            case Thinking(text):
                deltas.append(Delta("thinking", text))
            case ToolCall(_, name):
                deltas.append(Delta("call", "", name))
            case _:
                assert_never(part)
    return deltas


def deltas_after(parts: tuple[ReplyPart, ...], size: int, version: int = 0) -> list[Delta]:
    """What comes after the first `size` characters. Each delta has its place in the stream.

    >>> deltas_after((Thinking("Hm."), Text("Once upon")), 8, version=7)
    [Delta(kind='text', text='upon', name='', version=7, size=12)]
    """
    rest: list[Delta] = []
    end = 0
    for delta in deltas_of(parts):
        start, end = end, end + _size(delta)
        if size < end:
            text = delta.text[max(0, size - start) :]
            rest.append(Delta(delta.kind, text, delta.name, version, end))
    return rest


def deltas_before(parts: tuple[ReplyPart, ...], size: int) -> list[Delta]:
    """The first `size` characters.

    >>> [each.text for each in deltas_before((Thinking("Hm."), Text("Once upon")), 8)]
    ['Hm.', 'Once ']
    """
    found: list[Delta] = []
    for delta in deltas_of(parts):
        if size > 0:
            found.append(structs.replace(delta, text=delta.text[:size]))
        size -= _size(delta)
    return found


def _size(delta: Delta) -> int:
    return 1 if delta.kind == "call" else len(delta.text)
