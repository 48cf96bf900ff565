"""The turn that is being read: its prompt, replies and results, made to pair up.

Transcripts break off, lose rows and repeat them. A turn that leaves here keeps every text that was
read and obeys the rules of turns all the same: a call without its result gets one that says so, a
result without its call gets a call.
"""

from msgspec import Struct

from sapwood.core.content import Got, Note, PromptPart, ReplyPart, Said, ToolCall, Usage
from sapwood.sources.happenings import Ending, Spot, Told

__all__ = ["GOES_ON", "NO_RESULT", "TurnBuilder"]

NO_RESULT = "[the transcript has no result]"
GOES_ON = Note("program", "The conversation goes on from before this point.")
"""The prompt of a turn whose own is not known: before it is a compaction, or unread rows."""

_UNKNOWN_TOOL = "unknown"


class _Reply(Struct):
    """A reply that may still grow."""

    message: str
    parts: list[ReplyPart]
    model: str
    usage: Usage | None


class TurnBuilder:
    """Takes in what rows say of one turn, in their order."""

    def __init__(self, spot: Spot, prompt: tuple[PromptPart, ...] = (GOES_ON,)) -> None:
        self.prompt = prompt
        self._first = self._last = spot
        self.reason = ""
        self.failed = False
        self._items: list[_Reply | Got] = []
        self._reply: _Reply | None = None
        self._calls: set[str] = set()
        self._waiting: dict[str, None] = {}

    @property
    def answered(self) -> bool:
        """Whether the model has spoken and waits for nothing."""
        return self._reply is not None and not self._waiting

    def say(
        self,
        message: str,
        parts: list[ReplyPart],
        model: str = "",
        usage: Usage | None = None,
    ) -> None:
        """The model said this; rows of the same message are one reply."""
        reply = self._reply
        if reply is None or not message or reply.message != message:
            if not any(self._is_new(part) for part in parts):
                return
            self._close_calls()
            reply = self._reply = _Reply(message, [], model, usage)
            self._items.append(reply)
        for part in parts:
            if self._is_new(part):
                self._take(part, reply)
        reply.usage = usage or reply.usage

    def get(
        self, call: str, content: str, error: bool = False, added: int = 0, removed: int = 0
    ) -> None:
        """A tool gave this result."""
        if call not in self._waiting:
            call = self._ask(call)
        del self._waiting[call]
        self._items.append(Got(call, content, error, added, removed))

    def spend(self, usage: Usage) -> None:
        """The last reply used so much, if it was not said yet."""
        if self._reply is not None and self._reply.usage is None:
            self._reply.usage = usage

    def take_back(self, text: str) -> bool:
        """Takes the last reply out, if it is the end of this text: it was not said to the user."""
        reply = self._items[-1] if self._items else None
        if not isinstance(reply, _Reply) or len(reply.parts) != 1:
            return False
        said = reply.parts[0]
        if isinstance(said, ToolCall) or not said.text or not text.endswith(said.text):
            return False
        del self._items[-1]
        earlier = [item for item in self._items if isinstance(item, _Reply)]
        self._reply = earlier[-1] if earlier else None
        return True

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said or asked in it."""
        return not self._items and self.prompt == (GOES_ON,)

    def add(self, part: PromptPart) -> None:
        """Words that reached the model in the middle of the turn, where they can stand."""
        last = self._items[-1] if self._items else None
        if isinstance(last, Got):
            self._items[-1] = Got(
                last.call, f"{last.content}\n\n{part.text}", last.error, last.added, last.removed
            )
        else:
            self.prompt = (*self.prompt, part)

    def seen(self, spot: Spot) -> None:
        """A row of this turn was read; rows that were replaced may be told before later ones."""
        if spot.place >= self._last.place:
            self._last = spot

    def told(self, ending: Ending | None = None, reason: str = "") -> Told:
        """The turn as it is now; without an ending, as it looks."""
        status = ending or self._looks()
        items = [
            item if isinstance(item, Got) else Said(tuple(item.parts), item.model, item.usage)
            for item in self._items
        ]
        return Told(
            first=self._first,
            last=self._last,
            prompt=self.prompt,
            items=tuple(items),
            status=status,
            reason="" if status == "completed" else self.reason or reason,
        )

    def _looks(self) -> Ending:
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
            self._items.append(Got(call, NO_RESULT, error=True))
        self._waiting.clear()

    def _ask(self, call: str) -> str:
        """A call for a result that has none, as part of the reply that it came after."""
        number, name = 1, call
        while name in self._calls:
            number += 1
            name = f"{call}~{number}"
        if self._reply is None:
            self._reply = _Reply("", [], "", None)
            self._items.append(self._reply)
        self._take(ToolCall(name, _UNKNOWN_TOOL), self._reply)
        return name
