"""Builds one turn from its rows: the prompt, the replies, and the results of tool calls.

Transcripts end early, lose rows and repeat them. The finished turn keeps every text that was read
and still pairs calls with results: a call without a result gets one that says so, and a result
without a call gets a call.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.content import (
    Note,
    PromptPart,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    ToolCall,
    Usage,
)
from sapwood.programs.transcripts.transcript_events import RowRef, TranscriptTurn, TurnEnding

NO_RESULT = "[the transcript has no result]"
GOES_ON = Note("program", "The conversation goes on from before this point.")
"""The prompt of a turn whose own prompt is unknown: it follows a compaction or unread rows."""

_UNKNOWN_TOOL = "unknown"


def continues_a_turn(prompt: Sequence[PromptPart]) -> bool:
    """Whether this stands for the prompt of a turn whose own prompt is in no row.

    >>> continues_a_turn((GOES_ON,))
    True
    """
    return all(isinstance(part, Note) and part.text == GOES_ON.text for part in prompt)


class _Reply(Struct):
    """A reply to which parts may still be added. `after` is the turn's last row before it."""

    message: str
    parts: list[ReplyPart]
    model: str
    usage: Usage | None
    after: RowRef


class TurnBuilder:
    """Collects the rows of one turn, in their order."""

    def __init__(self, ref: RowRef, prompt: tuple[PromptPart, ...] = (GOES_ON,)) -> None:
        self.prompt = prompt
        self._first = self._last = ref
        self.reason = ""
        self.failed = False
        self.is_own = False
        self._items: list[_Reply | RecordedResult] = []
        self._reply: _Reply | None = None
        self._calls: set[str] = set()
        self._waiting: dict[str, None] = {}

    @property
    def answered(self) -> bool:
        """Whether the model has replied and no call waits for its result."""
        return self._reply is not None and not self._waiting

    def add_reply(
        self,
        message: str,
        parts: list[ReplyPart],
        model: str = "",
        usage: Usage | None = None,
    ) -> None:
        """Adds parts of a reply; parts with the same message id belong to one reply."""
        reply = self._reply
        if reply is None or not message or reply.message != message:
            if not any(self._is_new(part) for part in parts):
                return
            self._close_calls()
            reply = self._reply = _Reply(message, [], model, usage, self._last)
            self._items.append(reply)
        for part in parts:
            if self._is_new(part):
                self._take(part, reply)
        reply.usage = usage or reply.usage

    def add_result(
        self, call: str, content: str, error: bool = False, added: int = 0, removed: int = 0
    ) -> None:
        """Adds the result of a tool call."""
        if call not in self._waiting:
            call = self._invent_call(call)
        del self._waiting[call]
        self._items.append(RecordedResult(call, content, error, added, removed))

    def set_usage(self, usage: Usage) -> None:
        """Sets the usage of the last reply, unless it is set."""
        if self._reply is not None and self._reply.usage is None:
            self._reply.usage = usage

    def remove_last_reply(self, text: str) -> bool:
        """Removes the last reply if `text` ends with it: it was a summary and not for the user.

        Its row is no longer one of the turn. Returns whether it was removed.
        """
        reply = self._items[-1] if self._items else None
        if not isinstance(reply, _Reply) or len(reply.parts) != 1:
            return False
        part = reply.parts[0]
        if isinstance(part, ToolCall) or not part.text or not text.endswith(part.text):
            return False
        del self._items[-1]
        self._last = reply.after
        earlier = [item for item in self._items if isinstance(item, _Reply)]
        self._reply = earlier[-1] if earlier else None
        return True

    @property
    def is_empty(self) -> bool:
        """Whether the turn has neither a prompt nor a reply."""
        return not self._items and self.prompt == (GOES_ON,)

    def add(self, part: PromptPart) -> None:
        """Adds a text in the middle of the turn: to the last result, else to the prompt."""
        last = self._items[-1] if self._items else None
        if isinstance(last, RecordedResult):
            self._items[-1] = RecordedResult(
                last.call, f"{last.content}\n\n{part.text}", last.error, last.added, last.removed
            )
        else:
            self.prompt = (*self.prompt, part)

    def extend_to(self, ref: RowRef) -> None:
        """Makes this the last row of the turn, unless a later row was read before it."""
        if ref.offset >= self._last.offset:
            self._last = ref

    def to_event(
        self, ending: TurnEnding | None = None, reason: str = "", parent: int | None = None
    ) -> TranscriptTurn:
        """The turn as it is now; without `ending`, its rows decide how it ended.

        `parent` is the number of the turn that it follows.
        """
        status = ending or self._ending()
        items = [
            item
            if isinstance(item, RecordedResult)
            else RecordedReply(tuple(item.parts), item.model, item.usage)
            for item in self._items
        ]
        return TranscriptTurn(
            first=self._first,
            last=self._last,
            prompt=self.prompt,
            items=tuple(items),
            status=status,
            reason="" if status == "completed" else self.reason or reason,
            parent=parent,
            is_own=self.is_own,
        )

    def _ending(self) -> TurnEnding:
        if self.failed or self.reason:
            return "failed" if self.failed else "interrupted"
        last = self._items[-1] if self._items else None
        return "completed" if isinstance(last, _Reply) and not self._waiting else "interrupted"

    def _is_new(self, part: ReplyPart) -> bool:
        return part.id not in self._calls if isinstance(part, ToolCall) else bool(part.text)

    def _take(self, part: ReplyPart, reply: _Reply) -> None:
        reply.parts.append(part)
        if isinstance(part, ToolCall):
            self._calls.add(part.id)
            self._waiting[part.id] = None

    def _close_calls(self) -> None:
        for call in self._waiting:
            self._items.append(RecordedResult(call, NO_RESULT, error=True))
        self._waiting.clear()

    def _invent_call(self, call: str) -> str:
        """Adds a call for a result that has none, to the reply before it, and returns its id."""
        number, name = 1, call
        while name in self._calls:
            number += 1
            name = f"{call}~{number}"
        if self._reply is None:
            self._reply = _Reply("", [], "", None, self._last)
            self._items.append(self._reply)
        self._take(ToolCall(name, _UNKNOWN_TOOL), self._reply)
        return name
