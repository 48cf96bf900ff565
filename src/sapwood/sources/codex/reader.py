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
from sapwood.sources.reading import About, Mask, microseconds
from sapwood.sources.steps import Step
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
        self.lost = False
        self._mask = mask
        self._thread = Thread()
        self._response = 0
        self._answered = False
        self._patches: dict[str, tuple[int, int]] = {}
        self._asked = False
        self._used_before: int | None = None

    @property
    def steps(self) -> list[Step]:
        """What the rows told so far."""
        return self._thread.steps

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
        key, at, item = f"@{place}", microseconds(decoded.timestamp), decoded.payload
        self.about.updated = max(self.about.updated, at)
        match decoded.type:
            case "response_item":
                self._item(item, key, at)
            case "event_msg":
                self._event(item, key, at)
            case "compacted":
                self._compacted(item, key, at)
            case "session_meta" | "turn_context":
                self._describe(item)
            case _:
                pass

    def finish(self) -> None:
        """Tells the turn that stands last, as open unless it has ended. More rows may follow."""
        self._thread.finish()

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

    def _item(self, item: Item, key: str, at: int) -> None:
        match item.type:
            case "message" if item.role == "assistant":
                self._say([Text(text_of(item.content))], key, at)
            case "message" if item.role == "user":
                self._user(text_of(item.content), key, at)
            case "reasoning":
                self._say([Thinking(text_of(item.summary), "openai")], key, at)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                self._call(item, key, at)
            case "function_call_output" | "custom_tool_call_output":
                self._result(item, key, at)
            case _:
                pass

    def _user(self, text: str, key: str, at: int) -> None:
        if is_scaffolding(text):
            self._thread.note(text, key, at)
        elif text:
            self._thread.ask(key, at, Text(text))
            self._asked = True

    def _call(self, item: Item, key: str, at: int) -> None:
        call = item.call_id or item.id or key
        args = item.arguments
        if item.action is not None:
            args = msgspec.json.encode({"command": item.action.command or []}).decode()
        elif item.input is not None:
            args = msgspec.json.encode({"input": item.input}).decode()
            self._patches[call] = patch_of(item.input)
        self._say([ToolCall(call, item.name or item.type or "", args or "{}")], key, at)

    def _say(self, parts: list[ReplyPart], key: str, at: int) -> None:
        """What was said between two results is one reply."""
        if self._answered:
            self._response += 1
            self._answered = False
        turn = self._thread.opened(key, at)
        turn.say(f"{self._response}", parts, self.about.model)
        turn.seen(key, at)

    def _result(self, item: Item, key: str, at: int) -> None:
        self._answered = True
        turn = self._thread.opened(key, at)
        self._thread.done = False
        content, failed = output_of(item)
        call = item.call_id or key
        added, removed = (0, 0) if failed else self._patches.pop(call, (0, 0))
        turn.get(call, self._mask(content), failed, added, removed)
        turn.seen(key, at)

    def _event(self, item: Item, key: str, at: int) -> None:
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
                thread.turn.seen(key, at)
            case "thread_rolled_back":
                thread.end()
                thread.rewind(key, thread.turns - 1 - (item.num_turns or 0), at)
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

    def _compacted(self, item: Item, key: str, at: int) -> None:
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
            at=at,
            quoted="\n\n".join(quoted),
        )
        self._thread.compact(key, boundary)
        self._thread.tell_boundary()
        self.about.used = None


def _is_users(item: Item) -> bool:
    return item.type == "message" and item.role == "user"


def _is_noise(row: bytes) -> bool:
    """Whether a row says nothing of the conversation, told without decoding it."""
    head = row[:_HEAD]
    return b'"event_msg"' in head and not _EVENTS.search(head)
