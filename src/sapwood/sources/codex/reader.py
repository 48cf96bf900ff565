"""Reads the rows of a Codex rollout.

A rollout is append-only. Its items are those of the model's API, one a row, and events between them
tell where turns begin and end, what was used, and that the history was compacted or rolled back.
"""

import re

import msgspec

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall
from sapwood.core.secrets import mask_secrets
from sapwood.core.session import Boundary
from sapwood.sources.codex.contents import is_scaffolding, output_of, patch_of, text_of, usage_of
from sapwood.sources.codex.rows import Item, decode_row
from sapwood.sources.happenings import Happening, Spot
from sapwood.sources.reading import About, Mask, microseconds
from sapwood.sources.thread import Thread

__all__ = ["CodexReader"]

_EVENTS = re.compile(
    rb'"type":\s?"(?:token_count|task_started|task_complete|turn_aborted|thread_rolled_back)"'
)
_HEAD = 400
_PARENT = re.compile(rb'"parent_thread_id":\s?"([^"\\]{1,100})"')


class CodexReader:
    """Reads one conversation."""

    source = "codex"

    def __init__(self, *, mask: Mask = mask_secrets) -> None:
        self.about = About()
        self._mask = mask
        self._thread = Thread()
        self._response = 0
        self._answered = False
        self._patches: dict[str, tuple[int, int]] = {}
        self._asked = False
        self._used_before: int | None = None

    @property
    def lost(self) -> bool:
        """Whether a row referred to rows before the first that was fed."""
        return self._thread.lost

    @property
    def happened(self) -> list[Happening]:
        """What the rows told so far."""
        return self._thread.happened

    @property
    def children(self) -> "list[CodexReader]":
        """Subagents have rollouts of their own."""
        return []

    def feed(self, row: bytes, place: int) -> None:
        """Takes in one row, which begins at this byte of the rollout."""
        if _is_noise(row):
            return
        decoded = decode_row(row)
        if decoded is None or decoded.payload is None:
            return
        spot, item = Spot(f"@{place}", microseconds(decoded.timestamp), place), decoded.payload
        self.about.updated = max(self.about.updated, spot.at)
        match decoded.type:
            case "response_item":
                self._item(item, spot)
            case "event_msg":
                self._event(item, spot)
            case "compacted":
                self._compacted(item, spot)
            case "session_meta" | "turn_context":
                self._describe(item)
            case _:
                pass

    def is_named(self, row: bytes, place: int, key: str) -> bool:
        """Whether this row has the key."""
        return key == f"@{place}"

    def finish(self, *, growing: bool = False) -> None:
        """Tells the turn that stands last, as open unless it has ended. More rows may follow."""
        self._thread.finish(growing=growing)

    def cut(self) -> None:
        """Forgets the turn that was told last: what follows of it is a turn of its own."""
        self._thread.cut()

    def _describe(self, item: Item) -> None:
        about = self.about
        about.id = about.id or item.id or ""
        about.folder = about.folder or item.cwd or ""
        about.model = item.model or about.model
        if parent := _PARENT.search(bytes(item.source)):
            about.parent = parent[1].decode("utf-8", "replace")

    def _item(self, item: Item, spot: Spot) -> None:
        match item.type:
            case "message" if item.role == "assistant":
                self._say([Text(text_of(item.content))], spot)
            case "message" if item.role == "user":
                self._user(text_of(item.content), spot)
            case "reasoning":
                self._say([Thinking(text_of(item.summary), "openai")], spot)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                self._call(item, spot)
            case "function_call_output" | "custom_tool_call_output":
                self._result(item, spot)
            case _:
                pass

    def _user(self, text: str, spot: Spot) -> None:
        if is_scaffolding(text):
            self._thread.note(spot, text)
        elif text.strip():
            self._thread.ask(spot, Text(text))
            self._asked = True

    def _call(self, item: Item, spot: Spot) -> None:
        call = item.call_id or item.id or spot.key
        args = item.arguments
        if item.action is not None:
            args = msgspec.json.encode({"command": item.action.command or []}).decode()
        elif item.input is not None:
            args = msgspec.json.encode({"input": item.input}).decode()
            self._patches[call] = patch_of(item.input)
        self._say([ToolCall(call, item.name or item.type or "", args or "{}")], spot)

    def _say(self, parts: list[ReplyPart], spot: Spot) -> None:
        """What was said between two results is one reply."""
        if self._answered:
            self._response += 1
            self._answered = False
        turn = self._thread.opened(spot)
        turn.say(f"{self._response}", parts, self.about.model)
        turn.seen(spot)

    def _result(self, item: Item, spot: Spot) -> None:
        self._answered = True
        turn = self._thread.opened(spot)
        self._thread.done = False
        content, failed = output_of(item)
        call = item.call_id or spot.key
        added, removed = (0, 0) if failed else self._patches.pop(call, (0, 0))
        turn.get(call, self._mask(content), failed, added, removed)
        turn.seen(spot)

    def _event(self, item: Item, spot: Spot) -> None:
        thread = self._thread
        match item.type:
            case "token_count" if item.info:
                self._count(item)
            case "task_started":
                self._asked = False
                self.about.window = item.model_context_window or self.about.window
            case "task_complete":
                thread.done = thread.turn is not None
            case "turn_aborted" if thread.turn is not None:
                thread.turn.reason = item.reason or "interrupted"
                thread.turn.seen(spot)
            case "thread_rolled_back":
                thread.end()
                thread.rewind(spot, max(-1, thread.turns - 1 - (item.num_turns or 0)))
            case _:
                pass

    def _count(self, item: Item) -> None:
        assert item.info is not None
        self.about.window = item.info.window or self.about.window
        if (last := item.info.last) is None:
            return
        if last.total_tokens != self.about.used:
            self._used_before, self.about.used = self.about.used, last.total_tokens
        if self._thread.turn is not None:
            self._thread.turn.spend(usage_of(last))
        self._answered = True

    def _compacted(self, item: Item, spot: Spot) -> None:
        """Of the history, the user's own words stay; the summary may be for the model alone."""
        summary, turn = item.message or "", self._thread.turn
        used = self.about.used
        if turn is not None and turn.take_back(summary):
            used = self._used_before  # the last count was that of summarising
        kept = [text_of(each.content) for each in item.replacement_history or () if _is_users(each)]
        quoted = [f"User: {text}" for text in kept if text != summary and not is_scaffolding(text)]
        boundary = Boundary(
            0,
            trigger="auto" if self._asked else "manual",
            before_tokens=used,
            summary=summary,
            at=spot.at,
            quoted="\n\n".join(quoted),
        )
        self._thread.compact(spot, boundary)
        self._thread.tell_boundary()
        self.about.used = None


def _is_users(item: Item) -> bool:
    return item.type == "message" and item.role == "user"


def _is_noise(row: bytes) -> bool:
    """Whether a row says nothing of the conversation, told without decoding it."""
    head = row[:_HEAD]
    return b'"event_msg"' in head and not _EVENTS.search(head)
