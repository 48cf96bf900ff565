"""Reads the rows of a Codex rollout.

A rollout is append-only. Its rows are items of the model's API, and events between them that mark
where turns begin and end, how many tokens were used, and compactions and rollbacks of the history.

After a revert the program continues in another file, a segment, which says from which byte of
which file it continues. Items before its first turn were put there instead of the turns that were
removed.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct, structs

from sapwood.analysis.session import Boundary
from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall
from sapwood.programs.codex.contents import (
    is_own_compaction,
    is_scaffolding,
    output_of,
    patch_of,
    text_of,
    usage_of,
)
from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.codex.rows import HistoryBase, Item, decode_item, decode_row, is_noise
from sapwood.programs.transcripts.conversation_builder import (
    COMPACTED,
    ConversationBuilder,
    TranscriptReader,
)
from sapwood.programs.transcripts.transcript_events import (
    Mask,
    RowRef,
    microseconds,
)
from sapwood.redaction import mask_secrets

_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


class KeptTurns(Struct, frozen=True):
    """The turns that a history was cut to without gaps, and the texts in front of them."""

    turns: tuple[int, ...] = ()
    front: tuple[str, ...] = ()


class TurnItems:
    """The items of every turn, as hashes that are valid within one process."""

    def __init__(self) -> None:
        self._hashes: dict[int, list[int]] = {}

    def add(self, turn: int, item: Item) -> None:
        """Adds an item of a turn; one that the program wrote by itself is left out."""
        if (identity := _identity(item)) is not None:
            self._hashes.setdefault(turn, []).append(identity)

    def remove_last(self, turn: int) -> None:
        """Removes the last item of a turn."""
        del self._hashes.get(turn, [])[-1:]

    def find(self, items: Sequence[Item], builder: ConversationBuilder) -> KeptTurns:
        """The turns that these items are, each of which follows the one before it.

        Nothing is found unless the items are whole turns after messages in the user's name.
        """
        known = [each for each in items if _identity(each) is not None]
        hashes = [_identity(each) for each in known]
        for last in sorted(self._hashes, reverse=True):
            end, turns = len(hashes), list[int]()
            turn = last
            while items_of := self._hashes.get(turn):
                if hashes[max(0, end - len(items_of)) : end] != items_of:
                    break
                end -= len(items_of)
                turns.insert(0, turn)
                turn = builder.parent_of(turn)
            if turns and all(each.is_users for each in known[:end]):
                return KeptTurns(tuple(turns), tuple(text_of(each.content) for each in known[:end]))
        return KeptTurns()

    def listed(self, items: Sequence[Item]) -> tuple[int, ...]:
        """The whole turns among these items, also if there are gaps between them."""
        hashes = [each for each in map(_identity, items) if each is not None]
        by_first: dict[int, list[int]] = {}
        for turn, own in self._hashes.items():
            if own:
                by_first.setdefault(own[0], []).append(turn)
        found: list[int] = []
        at = 0
        while at < len(hashes):
            after = found[-1] if found else -1
            here = [
                turn
                for turn in by_first.get(hashes[at], ())
                if turn > after and hashes[at : at + len(self._hashes[turn])] == self._hashes[turn]
            ]
            at += len(self._hashes[here[0]]) if here else 1
            found += here[:1]
        return tuple(found)


def _identity(item: Item) -> int | None:
    match item.type:
        case "message" if item.role in ("user", "assistant"):
            text = text_of(item.content)
            if item.role == "user" and (is_scaffolding(text) or not text.strip()):
                return None
            return hash((item.role, text))
        case kind if kind in _CALLS:
            command = tuple(item.action.command or ()) if item.action else ()
            return hash((item.call_id or item.id, item.name, item.arguments, item.input, command))
        case kind if kind in _OUTPUTS:
            return hash((item.call_id, *output_of(item)))
        case _:
            return None


_PARENT = re.compile(rb'"parent_thread_id":\s?"([^"\\]{1,100})"')


class _View(Struct, frozen=True, gc=False):
    """What was in view after the row at a byte: turns up to `tip` after `head`, and a text."""

    offset: int
    tip: int
    head: int
    front: str


class CodexReader(TranscriptReader):
    """Reads one conversation."""

    source = PROGRAM.name

    def __init__(self, *, mask: Mask = mask_secrets) -> None:
        super().__init__(mask)
        self._response = 0
        self._answered = False
        self._patches: dict[str, tuple[int, int]] = {}
        self._asked = False
        self._used_before: int | None = None
        self._items = TurnItems()
        self._file = ""
        self._head: int = -1
        self._front = ""
        self._views: dict[str, list[_View]] = {}
        self._injected: list[Item] | None = None
        self._injected_at: RowRef | None = None
        # The last summary before the first prompt, to which it belongs.
        self._opening: tuple[RowRef, str] | None = None

    def feed(self, row: bytes, offset: int) -> None:
        """Takes in one row, which begins at this byte of the rollout."""
        if is_noise(row):
            return
        decoded = decode_row(row)
        if decoded is None or decoded.payload is None:
            return
        key = f"{self._file}@{offset}"
        ref, item = RowRef(key, microseconds(decoded.timestamp), offset), decoded.payload
        self.details.updated = max(self.details.updated, ref.at)
        if key in self._passed_over:
            self._builder.end_turn()
            self._builder.pass_over_compactions()
            self._builder.is_tip_sure = False
            return
        match decoded.type:
            case "response_item" if self._injected is not None:
                self._injected.append(item)
                self._injected_at = self._injected_at or ref
            case "response_item":
                self._item(item, ref)
                if self._builder.turn is not None:
                    self._items.add(self._builder.turns, item)
                    self._note_view(offset, self._builder.turns)
            case "event_msg":
                self._event(item, ref)
            case "compacted":
                self._compacted(item, ref)
            case "session_meta" if self._file and self._injected is None:
                self._go_on_from(item.history_base, ref)
            case "session_meta" | "turn_context":
                self._describe(item)
            case _:
                pass

    def has_key(self, row: bytes, offset: int, key: str) -> bool:
        """Whether this row has the key."""
        return key == f"{self._file}@{offset}"

    def begin_file(self, name: str) -> None:
        """Says that the rows that follow are in this segment of the thread."""
        self._put_injected()
        self._file = name

    def finish(self, *, growing: bool = False) -> None:
        """Emits the last turn, as open unless it has ended. More rows may follow."""
        if not growing:
            self._put_injected()
        super().finish(growing=growing)

    def _describe(self, item: Item) -> None:
        about = self.details
        about.id = about.id or item.id or ""
        about.folder = about.folder or item.cwd or ""
        about.model = item.model or about.model
        if parent := _PARENT.search(bytes(item.source)):
            about.parent = parent[1].decode("utf-8", "replace")

    def _item(self, item: Item, ref: RowRef) -> None:
        match item.type:
            case "message" if item.role == "assistant":
                self._add_reply([Text(text_of(item.content))], ref)
            case "message" if item.is_users:
                self._user(text_of(item.content), ref)
            case "reasoning":
                self._add_reply([Thinking(text_of(item.summary), "openai")], ref)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                self._call(item, ref)
            case "function_call_output" | "custom_tool_call_output":
                self._result(item, ref)
            case _:
                pass

    def _user(self, text: str, ref: RowRef) -> None:
        if is_scaffolding(text):
            self._builder.add_note(ref, text)
        elif text.strip():
            if self._opening is not None and not self._builder.turns:
                self._builder.add_note(*self._opening)
            self._opening = None
            self._builder.start_turn(ref, Text(text))
            self._asked = True

    def _call(self, item: Item, ref: RowRef) -> None:
        call = item.call_id or item.id or ref.key
        args = item.arguments
        if item.action is not None:
            args = msgspec.json.encode({"command": item.action.command or []}).decode()
        elif item.input is not None:
            args = msgspec.json.encode({"input": item.input}).decode()
            self._patches[call] = patch_of(item.input)
        self._add_reply([ToolCall(call, item.name or item.type or "", args or "{}")], ref)

    def _add_reply(self, parts: list[ReplyPart], ref: RowRef) -> None:
        """Adds to the reply; everything between two results is one reply."""
        if self._answered:
            self._response += 1
            self._answered = False
        turn = self._builder.current_turn(ref)
        turn.add_reply(f"{self._response}", parts, self.details.model)
        turn.extend_to(ref)

    def _result(self, item: Item, ref: RowRef) -> None:
        self._answered = True
        turn = self._builder.current_turn(ref)
        self._builder.done = False
        content, failed = output_of(item)
        call = item.call_id or ref.key
        added, removed = (0, 0) if failed else self._patches.pop(call, (0, 0))
        turn.add_result(call, self._mask(content), failed, added, removed)
        turn.extend_to(ref)

    def _event(self, item: Item, ref: RowRef) -> None:
        builder = self._builder
        match item.type:
            case "token_count" if item.info:
                self._count(item)
            case "task_started":
                self._put_injected()
                self._asked = False
                self.details.window = item.model_context_window or self.details.window
            case "task_complete":
                builder.done = builder.turn is not None
            case "turn_aborted" if builder.turn is not None:
                builder.turn.reason = item.reason or "interrupted"
                builder.turn.extend_to(ref)
            case "thread_rolled_back":
                builder.end_turn()
                builder.rewind(ref, builder.turn_before(item.num_turns or 0))
            case _:
                pass

    def _count(self, item: Item) -> None:
        assert item.info is not None
        self.details.window = item.info.window or self.details.window
        if (last := item.info.last) is None:
            return
        if last.total_tokens != self.details.used:
            self._used_before, self.details.used = self.details.used, last.total_tokens
        if self._builder.turn is not None:
            self._builder.turn.set_usage(usage_of(last))
        self._answered = True

    def _compacted(self, item: Item, ref: RowRef) -> None:
        """Keeps the user's messages; the summary may be encrypted for the model."""
        summary, turn = item.message or "", self._builder.turn
        used = self.details.used
        if turn is not None and turn.remove_last_reply(summary):
            used = self._used_before  # the last count belongs to the call that wrote the summary
            self._items.remove_last(self._builder.turns)
        self._builder.end_turn(COMPACTED)
        if not self._builder.turns:
            self._opening = (ref, summary)
        boundary = Boundary(
            0,
            trigger="auto" if self._asked else "manual",
            before_tokens=used,
            at=ref.at,
            is_change=not is_own_compaction(item),
        )
        items = map(decode_item, item.replacement_history or ())
        self._replace_history(ref, boundary, [each for each in items if each], summary)

    def _replace_history(
        self, ref: RowRef, boundary: Boundary, items: list[Item], summary: str
    ) -> None:
        """Emits a compaction to these items: to whole turns, or to the user's messages."""
        found = self._items.find(items, self._builder)
        is_partial = not found.turns and any(map(_speaks, items))
        if is_partial:
            self._builder.needs_earlier_rows = True
        spoken = [each for each in items if _speaks(each)]
        texts = [text_of(each.content) for each in spoken if each.is_users]
        quoted = [f"User: {text}" for text in texts if text != summary]
        # Codex's own compaction has a summary, which may be an item that only its model can read.
        cleared = bool(items) and not summary and not found.turns and len(texts) == len(spoken)
        front = found.front if found.turns else texts if cleared else ()
        boundary = structs.replace(
            boundary,
            summary=summary or "\n\n".join(front),
            kept=len(found.turns),
            quoted="" if found.turns or cleared else "\n\n".join(quoted),
            turns=found.turns,
            cleared=cleared,
            listed=self._items.listed(items) if boundary.is_change else (),
            is_partial=is_partial and boundary.is_change,
        )
        self._builder.begin_compaction(ref, boundary)
        self._builder.emit_compaction()
        self.details.used = None
        tip = self._builder.tip
        self._head = self._builder.parent_of(found.turns[0]) if found.turns else tip
        self._front = boundary.summary
        self._note_view(ref.offset, tip)

    def _note_view(self, offset: int, tip: int) -> None:
        """Remembers what is in view after the row at this byte."""
        views = self._views.setdefault(self._file, [])
        view = _View(offset, tip, self._head, self._front)
        if views and (views[-1].tip, views[-1].head) == (view.tip, view.head):
            views.pop()
        views.append(view)

    def _go_on_from(self, base: HistoryBase | None, ref: RowRef) -> None:
        """Goes back to the place from which a segment continues; what follows may be injected."""
        builder = self._builder
        builder.end_turn()
        builder.needs_earlier_rows = True
        view = self._view_at(base) if base else _View(0, -1, -1, "")
        self._head, self._front = view.head, view.front
        turns = self._turns_of(view)
        if not turns:
            builder.rewind(ref, view.tip)
        if turns or view.tip >= 0:
            kept, front = len(turns), view.front
            boundary = Boundary(0, "", None, None, front, ref.at, kept, "", turns, not turns, True)
            builder.begin_compaction(ref, boundary)
            builder.emit_compaction()
        self._note_view(ref.offset, view.tip)
        self._injected, self._injected_at = [], None

    def _turns_of(self, view: "_View") -> tuple[int, ...]:
        turns: list[int] = []
        turn = view.tip
        while turn > view.head:
            turns.insert(0, turn)
            turn = self._builder.parent_of(turn)
        return tuple(turns)

    def _view_at(self, base: HistoryBase) -> "_View":
        """What was in view after the first bytes of a file."""
        file = "" if base.thread_id == self.details.id else base.thread_id or ""
        end = base.end_byte_offset or 0
        inside = [view for view in self._views.get(file, ()) if view.offset < end]
        return inside[-1] if inside else _View(0, -1, -1, "")

    def _put_injected(self) -> None:
        """Emits what was put into the history before the first turn of a segment."""
        items, at = self._injected, self._injected_at
        self._injected = self._injected_at = None
        if at is not None and any(map(_speaks, items or ())):
            change = Boundary(0, trigger="manual", at=at.at, is_change=True)
            self._replace_history(at, change, items or [], "")


def _speaks(item: Item) -> bool:
    """Whether an item is a part of the conversation, not of the program's own frame."""
    is_frame = item.role == "developer" or (item.is_users and is_scaffolding(text_of(item.content)))
    return not is_frame
