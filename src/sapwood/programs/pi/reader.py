"""Reads the rows of a pi session.

The rows form a tree, and the last row is where the conversation is. A row whose parent is not the
row before it continues from an earlier entry; compactions and edits change what is in view. From
both, the reader makes rewinds and compactions that lead to the same view.
"""

from msgspec import structs

from sapwood.analysis.session import Boundary
from sapwood.core.content import Note, ReplyPart, Text, Thinking, ToolCall
from sapwood.programs.pi.program import PROGRAM
from sapwood.programs.pi.rows import (
    WRITER,
    PiMessage,
    PiRow,
    decode_row,
    parts_of,
    text_of,
    usage_of,
)
from sapwood.programs.pi.session_tree import SessionTree, View, entry_of
from sapwood.programs.transcripts.conversation_builder import COMPACTED, TranscriptReader
from sapwood.programs.transcripts.transcript_events import Mask, RowRef, microseconds
from sapwood.redaction import mask_secrets

_ENDS = frozenset({"stop", "length"})
_ABORTED = "The turn was interrupted."
_MAX_REASON = 500


class PiReader(TranscriptReader):
    """Reads one conversation."""

    source = PROGRAM.name

    def __init__(self, mask: Mask = mask_secrets) -> None:
        super().__init__(mask)
        self._tree = SessionTree()
        self._turn_of: dict[str, int] = {}
        self._rows_of: dict[int, list[str]] = {}
        self._texts: dict[str, str] = {}
        self._hashes: dict[str, int] = {}
        self._moved: RowRef | None = None
        self._before = ""
        self._follows_own = False
        self._lacks_rows = False

    @property
    def needs_earlier_rows(self) -> bool:
        """Whether a row referred to rows before the first one that was fed."""
        return self._lacks_rows or super().needs_earlier_rows

    def feed(self, row: bytes, offset: int) -> None:
        """Takes in one row, which begins at this byte of the transcript."""
        decoded = decode_row(row)
        if decoded is None:
            return
        self._describe(decoded)
        if decoded.type == "session" or not decoded.type:
            return
        key = decoded.id or f"@{offset}"
        if key in self._tree.entries:
            if self._hashes.get(key) == hash(row):
                return  # the program wrote the row twice
            key = f"{key}@{offset}"
        self._hashes[key] = hash(row)
        self._take(decoded, RowRef(key, microseconds(decoded.timestamp), offset))

    def has_key(self, row: bytes, offset: int, key: str) -> bool:
        """Whether this row has the key."""
        decoded = decode_row(row)
        name = (decoded and decoded.id) or f"@{offset}"
        return key in (name, f"{name}@{offset}")

    def finish(self, *, growing: bool = False) -> None:
        """Emits the last turn, as open unless it has ended. More rows may follow."""
        if self._moved and (not growing or self._has_whole_turns()):
            self._follow(self._tree.leaf)  # else more edits of the same turn may follow
        super().finish(growing=growing)

    def _describe(self, row: PiRow) -> None:
        about = self.details
        about.updated = max(about.updated, microseconds(row.timestamp))
        if row.type == "session":
            about.id = row.id or about.id
            about.folder = about.folder or row.cwd or ""
        elif row.type == "session_info":
            about.title = row.name or about.title
        elif row.type == "model_change":
            about.model = row.model_id or about.model

    def _take(self, row: PiRow, ref: RowRef) -> None:
        last, parent = self._tree.leaf, row.parent_id
        named = (parent, row.target_id, row.first_kept_entry_id)
        self._lacks_rows |= any(each and each not in self._tree.entries for each in named)
        if parent and parent not in self._tree.entries:
            parent = last  # of a row that was not read
        if not row.id:
            parent = last  # the first version of the format had no tree
        is_own = ref.key in self._passed_over
        if is_own:
            self._moved, self._before, self._follows_own = None, ref.key, True
            self._builder.pass_over_compactions()
        elif parent != (last or None) or row.type == "context_edit":
            self._move(ref, last)
        if row.type == "message" or row.type in ("custom_message", "branch_summary"):
            self._follow(parent or "")
        self._tree.add(entry_of(row, ref.key, parent))
        if is_own:
            return
        if row.type == "compaction":
            self._move(ref, last)
            self._follow(ref.key, row)
        elif row.type == "message" and row.message is not None:
            self._message(row.message, ref)
        elif row.type == "custom_message":
            self._builder.add_note(ref, text_of(row.content))
        elif row.type == "branch_summary":
            self._builder.add_note(ref, row.summary or "")

    def _move(self, ref: RowRef, last: str) -> None:
        """Remembers that the view may be another one from here on.

        Of several such rows the last one names the event: more may follow after an import.
        """
        self._before = last if self._moved is None else self._before
        self._moved = ref

    def _message(self, message: PiMessage, ref: RowRef) -> None:
        match message.role:
            case "user":
                self._prompt(text_of(message.content), ref)
            case "assistant":
                self._reply(message, ref)
            case "toolResult":
                self._result(message, ref)
            case "bashExecution" if not message.exclude_from_context:
                ran = f"{message.command or ''}\n{self._mask(message.output or '')}".strip()
                self._builder.add_waiting(ref, Note("program", ran))
            case "system" | "bashExecution":
                pass
            case _:
                self._builder.add_note(ref, text_of(message.content))

    def _prompt(self, text: str, ref: RowRef) -> None:
        builder = self._builder
        builder.end_turn()
        if self._follows_own:
            builder.is_tip_sure = self._follows_own = False
        builder.start_turn(ref, Text(text))
        self._remember(ref, f"User: {text}")

    def _reply(self, message: PiMessage, ref: RowRef) -> None:
        turn = self._builder.current_turn(ref)
        parts, usage = parts_of(message), usage_of(message)
        turn.add_reply(ref.key, parts, message.model or "", usage)
        turn.extend_to(ref)
        turn.failed = message.stop_reason == "error"
        stopped = turn.failed or message.stop_reason == "aborted"
        turn.reason = (message.error_message or _ABORTED)[:_MAX_REASON] if stopped else ""
        self._builder.done = turn.failed or (message.stop_reason in _ENDS and turn.answered)
        self._remember(ref, f"Assistant: {' '.join(filter(None, map(_shown, parts)))}")
        self.details.model = message.model or self.details.model
        if usage is not None:
            self.details.used = usage.input + usage.output

    def _result(self, message: PiMessage, ref: RowRef) -> None:
        turn = self._builder.current_turn(ref)
        self._builder.done = False
        content = self._mask(text_of(message.content))
        turn.add_result(message.tool_call_id or ref.key, content, bool(message.is_error))
        turn.extend_to(ref)
        self._remember(ref, f"Result: {content}")

    def _remember(self, ref: RowRef, text: str) -> None:
        number = self._builder.turns
        self._turn_of[ref.key] = number
        self._rows_of.setdefault(number, []).append(ref.key)
        self._texts[ref.key] = text

    # What is in view

    def _follow(self, leaf: str, compaction: PiRow | None = None) -> None:
        """Emits what leads to the view at this entry, if it may be another one than before."""
        ref, self._moved = self._moved, None
        if ref is None:
            return
        builder = self._builder
        old, new = self._tree.view(self._before), self._tree.view(leaf)
        if old.compaction == new.compaction and _texts_in(old) == _texts_in(new):
            return
        builder.end_turn(COMPACTED if compaction else "")
        before, after = self._turns_in(old), self._turns_in(new)
        is_cut = old.compaction == new.compaction and before[: len(after)] == after
        if is_cut and (after or not new.compaction) and self._are_whole(new, after):
            builder.rewind(ref, after[-1] if after else -1)
        else:
            builder.begin_compaction(ref, self._boundary(ref, new, after, compaction))
            builder.emit_compaction()
            self.details.used = None

    def _turns_in(self, view: View) -> list[int]:
        found = (self._turn_of.get(entry.id) for entry in view.seen)
        return list(dict.fromkeys(number for number in found if number is not None))

    def _are_whole(self, view: View, turns: list[int]) -> bool:
        shown = {entry.id for entry in view.seen if view.shows(entry)}
        return all(shown.issuperset(self._rows_of[number]) for number in turns)

    def _has_whole_turns(self) -> bool:
        """Whether no edit took only a part of a turn out of the view."""
        view = self._tree.view(self._tree.leaf)
        cut = {self._turn_of.get(key) for key, edit in view.edits.items() if edit.omits}
        return cut.isdisjoint(self._turns_in(view))

    def _boundary(
        self, ref: RowRef, view: View, turns: list[int], compaction: PiRow | None
    ) -> Boundary:
        """The last turns in view that are whole and follow one another; others are quoted."""
        kept = turns[len(turns) :]
        while len(kept) < len(turns):
            more = turns[len(turns) - len(kept) - 1 :]
            if not self._are_whole(view, more[:1]):
                break
            if kept and not self._builder.is_path(more[:2]):
                break
            kept = more
        rest = [entry.id for entry in view.seen if self._turn_of.get(entry.id) not in kept]
        quoted = "\n\n".join(self._texts[key] for key in rest if key in self._texts)
        summary = self._texts.get(view.compaction.id, "") if view.compaction else ""
        if compaction is not None:
            summary = self._texts[ref.key] = compaction.summary or ""
        is_change = compaction is None or compaction.written_by == WRITER
        boundary = Boundary(
            0,
            summary=summary,
            at=ref.at,
            before_tokens=compaction.tokens_before if compaction else None,
            kept=len(kept),
            quoted=quoted,
            turns=tuple(kept),
            cleared=not kept and not quoted and not summary,
            is_change=is_change,
            listed=tuple(n for n in turns if is_change and self._are_whole(view, [n])),
        )
        if kept and quoted:
            return structs.replace(boundary, summary=boundary.text, quoted="")
        return boundary


def _texts_in(view: View) -> list[tuple[str, str]]:
    """The entries in view, each with its edit."""
    edits = view.edits
    return [(each.id, edits[each.id].id if each.id in edits else "") for each in view.seen]


def _shown(part: ReplyPart) -> str:
    if isinstance(part, Thinking):
        return ""
    return f"[{part.name} {part.args}]" if isinstance(part, ToolCall) else part.text
