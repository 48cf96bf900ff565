"""The protocol of what a conversation is drawn on, and the reply that is still streaming."""

from typing import Protocol

from msgspec import Struct

from sapwood.conversation.timeline_reader import EventCache
from sapwood.core.model_calls import Delta
from sapwood.core.timeline.rows import RowKey
from sapwood.core.timeline.timeline import Timeline

_MAX_OUTPUT = 4_000
"""Bytes that are kept of what a running command has printed."""


class PartialReply(Struct, frozen=True, gc=False):
    """The part of a reply that has arrived. It disappears when the event of the reply arrives.

    `shell` is the line of a shell command of the person that runs, and `output` what it printed;
    without a model, there is nothing else.
    """

    model: str
    text: str = ""
    thinking: str = ""
    tool: str = ""
    heads: bool = True
    shell: str = ""
    output: str = ""

    @property
    def key(self) -> tuple[str, str, int, int]:
        return ("stream", "", 0, 0)


class TranscriptSink(Protocol):
    """Draws the rows of a timeline: a transcript on the screen, or the terminal's scrollback."""

    async def show(self, timeline: Timeline, events: EventCache) -> None:
        """Shows the end of a conversation."""
        ...

    async def complete(self, timeline: Timeline) -> None:
        """Replaces the timeline by one of the same conversation that begins earlier."""
        ...

    async def grow(self) -> None:
        """Draws the rows that were added to the timeline."""
        ...

    async def stream(self, piece: PartialReply | None) -> None:
        """Shows a partial reply, or removes it."""
        ...

    async def go_to(self, key: RowKey) -> bool:
        """Shows one row; returns false if there is no such row."""
        ...


class PartialReplyBuilder:
    """Builds a partial reply from its deltas."""

    def __init__(self) -> None:
        self._model = ""
        self._calling = self._over = False
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._tool = ""
        self._shell = ""
        self._output = b""

    def start(self, model: str) -> None:
        """Starts a new reply of a model."""
        self.clear()
        self._model, self._calling, self._over = model, True, False

    def add(self, delta: Delta) -> None:
        """Adds a delta. A delta that arrives after the end of its reply is ignored."""
        if self._over:
            return
        self._calling = True
        match delta.kind:
            case "text":
                self._text.append(delta.text)
            case "thinking":
                self._thinking.append(delta.text)
            case "call":
                self._tool = delta.name or self._tool

    def clear(self) -> None:
        """Ends the reply: it is in the log, or its turn has ended."""
        self._calling, self._over, self._tool = False, True, ""
        self._text.clear()
        self._thinking.clear()

    def run_shell(self, line: str, output: bytes) -> None:
        """A shell command of the person runs and has printed this; an empty line ends it."""
        self._output = (self._output + output)[-_MAX_OUTPUT:] if output else b""
        self._shell = line

    def row(self) -> PartialReply | None:
        """The partial reply to show; None if nothing is streaming."""
        line, output = self._shell, self._output.decode(errors="replace")
        if not self._calling:
            return PartialReply("", heads=False, shell=line, output=output) if line else None
        text, thinking = "".join(self._text), "".join(self._thinking)
        return PartialReply(self._model, text, thinking, self._tool, shell=line, output=output)
