"""Reads the rows of a Claude Code transcript.

A transcript is append-only, and its rows form a tree by `parentUuid`: side chains are subagents, a
prompt whose parent is in an earlier turn is a rewind, and a compaction boundary has no parent.
"""

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, structs

from sapwood.analysis.session import Boundary
from sapwood.core.content import Note, ReplyPart, Text, ToolCall
from sapwood.programs.claude_code import rows
from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.claude_code.user_text import classify_user_text
from sapwood.programs.transcripts.conversation_builder import (
    COMPACTED,
    OTHER_BRANCH,
    TranscriptReader,
)
from sapwood.programs.transcripts.session_files import decoded_string
from sapwood.programs.transcripts.transcript_events import (
    Mask,
    RowRef,
    microseconds,
)
from sapwood.redaction import mask_secrets


class MessageLine(Struct, frozen=True, gc=False):
    """A message since the last compaction: its row, its turn, who wrote it, and its parts."""

    uuid: str
    turn: int
    who: str
    parts: Sequence[ReplyPart | str]

    def __str__(self) -> str:
        return f"{self.who}: {' '.join(map(_shown, self.parts))}"


class PreservedMessages(Struct, frozen=True):
    """How many of the last turns are whole, the other messages as text, and all kept lines."""

    turns: int
    quoted: str
    lines: list[MessageLine]


def preserved_ids(compaction: rows.Compaction | None, lines: Sequence[MessageLine]) -> set[str]:
    """The ids of the rows that a compaction left in view, according to its metadata."""
    if compaction is None:
        return set()
    if compaction.preserved and compaction.preserved.uuids:
        return set(compaction.preserved.uuids)
    segment = compaction.segment
    ids = [line.uuid for line in lines]
    if not segment or segment.head not in ids:
        return set()
    start = ids.index(segment.head)
    end = ids.index(segment.tail) + 1 if segment.tail in ids[start:] else len(ids)
    return set(ids[start:end])


def preserved_messages(
    lines: Sequence[MessageLine], wanted: set[str], turns: int
) -> PreservedMessages:
    """What is left in view of these lines, after this many turns."""
    whole = turns
    while whole > 0 and _is_whole(lines, wanted, whole - 1):
        whole -= 1
    kept = [line for line in lines if line.uuid in wanted]
    quoted = [str(line) for line in kept if line.turn < whole]
    return PreservedMessages(turns - whole, "\n\n".join(quoted), kept)


def _is_whole(lines: Sequence[MessageLine], wanted: set[str], turn: int) -> bool:
    ids = [line.uuid for line in lines if line.turn == turn]
    return bool(ids) and wanted.issuperset(ids)


def _shown(part: ReplyPart | str) -> str:
    if isinstance(part, str):
        return part
    return f"[{part.name} {part.args}]" if isinstance(part, ToolCall) else part.text


_WANTED = frozenset({b"user", b"assistant", b"system", b"summary", b"custom-title", b"ai-title"})
_ENDS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal"})
_STOPS = frozenset({"stop_hook_summary", "turn_duration"})
_SYNTHETIC = "<synthetic>"
_BOUNDARY = b'"compact_boundary"'
_UUID, _PARENT = b'"uuid":"', b'"parentUuid":"'
_SHOWN_FILE = b'"attachment":{"type":"file"'
"""A file that the program shows to the model by itself, for example after a compaction."""
_FILE_NAME = re.compile(rb'"filename":\s?("(?:[^"\\]|\\.)*")')
_MAX_REASON = 500
_MAX_LINES = 20_000


class ClaudeReader(TranscriptReader):
    """Reads one conversation: the main one of a transcript, or that of a subagent."""

    source = PROGRAM.name

    def __init__(self, *, subagent: bool = False, mask: Mask = mask_secrets) -> None:
        super().__init__(mask)
        self._subagent = subagent
        self._turn_of: dict[str, int] = {}
        self._content_hashes: dict[str, int] = {}
        self._lines: list[MessageLine] = []
        self._message_turns: dict[str, int] = {}
        self._message_counts: Counter[int] = Counter()
        self._chains: dict[str, ClaudeReader] = {}
        self._chain_of: dict[str, ClaudeReader] = {}

    @property
    def children(self) -> "list[ClaudeReader]":
        """Readers of the subagents whose rows are in the same transcript."""
        return list(self._chains.values())

    def feed(self, row: bytes, offset: int) -> None:
        """Takes in one row, which begins at this byte of the transcript."""
        if self._passed_over and (key := _uuid_of(row)) in self._passed_over:
            self._turn_of[key] = self._builder.turns
            if _BOUNDARY in row and (boundary := rows.decode_row(row)):
                self._builder.pass_over_compactions()
                self._builder.keep_waiting(preserved_ids(boundary.compact_metadata, self._lines))
        elif _is_noise(row):
            self._turn_of.setdefault(_uuid_of(row), self._turn_behind(row))
            if _SHOWN_FILE in row and (path := decoded_string(_FILE_NAME.search(row))):
                self.details.shown_files.append((self._builder.turns, path))
        elif decoded := rows.decode_row(row):
            at = microseconds(decoded.timestamp)
            self.take(decoded, RowRef(decoded.uuid or f"@{offset}", at, offset))

    def has_key(self, row: bytes, offset: int, key: str) -> bool:
        """Whether this row has the key."""
        return _uuid_of(row) == key

    def take(self, row: rows.ClaudeRow, ref: RowRef) -> None:
        """Takes in a decoded row."""
        if row.is_sidechain and not self._subagent:
            self._delegate(row, ref)
            return
        content_hash = hash(
            (row.type, row.is_meta, row.is_compact_summary, rows.hash_of(row.message))
        )
        if ref.key in self._turn_of:
            if self._content_hashes.get(ref.key) == content_hash:
                return  # the program wrote the row twice
            ref = structs.replace(ref, key=f"{ref.key}@{ref.offset}")
        self._content_hashes[ref.key] = content_hash
        self._describe(row, ref.at)
        if row.message and not row.is_compact_summary:
            self._follow_branch(row, ref)
        match row.type:
            case "user" if row.message:
                self._user(row, row.message, ref)
            case "assistant" if row.message:
                self._assistant(row, row.message, ref)
            case "system":
                self._system(row, ref)
            case "attachment" if row.attachment and row.attachment.type == "queued_command":
                self._words(row.attachment.prompt or "", row, ref)
            case _:
                pass
        self._turn_of[ref.key] = self._builder.turns
        if row.written_by == rows.WRITER and not row.closes_turn and self._builder.turn is not None:
            self._builder.turn.is_own = True

    def _turn_behind(self, row: bytes) -> int:
        """The turn that a row of the program belongs to: that of the row that it follows."""
        to = self._turn_of.get(_text_after(_PARENT, row))
        return self._builder.turns if to is None or self._builder.is_behind(to) else to

    def _follow_branch(self, row: rows.ClaudeRow, ref: RowRef) -> None:
        """Goes to the turn that this row follows, if that is not behind the current one.

        Two terminals may have the session open: their turns are branches, and their rows alternate.
        """
        builder, to = self._builder, self._turn_of.get(row.parent_uuid or "")
        if to is not None and not builder.is_behind(to):
            builder.end_turn(OTHER_BRANCH)
            builder.rewind(ref, to)
        if to is None and row.parent_uuid:
            builder.needs_earlier_rows = True

    def _describe(self, row: rows.ClaudeRow, at: int) -> None:
        about = self.details
        if self._subagent:
            about.id = about.id or row.agent_id or ""
            about.parent = row.session_id or about.parent
        else:
            about.id = about.id or row.session_id or ""
        about.folder = about.folder or row.cwd or ""
        about.title = row.custom_title or row.ai_title or row.summary or about.title
        about.updated = max(about.updated, at)

    def _delegate(self, row: rows.ClaudeRow, ref: RowRef) -> None:
        """Passes a row of a side chain to the reader of its subagent."""
        known = self._chain_of.get(row.parent_uuid or "")
        name = row.agent_id or (known.details.id if known else ref.key)
        chain = self._chains.get(name)
        if chain is None:
            chain = self._chains[name] = ClaudeReader(subagent=True, mask=self._mask)
            chain.details.id = name
        self._chain_of[ref.key] = chain
        chain.take(row, ref)

    def _user(self, row: rows.ClaudeRow, message: rows.ClaudeMessage, ref: RowRef) -> None:
        content = message.content
        if row.is_compact_summary:
            if row.parent_uuid not in self._passed_over:
                self._builder.add_summary(ref, rows.text_of(content))
            return
        texts: list[str] = []
        blocks = [rows.ClaudeBlock("text", content)] if isinstance(content, str) else content
        for block in blocks or ():
            if block.type == "tool_result":
                self._result(block, row, ref)
            elif text := rows.shown(block):
                texts.append(text)
        if any(text.strip() for text in texts):
            self._words("\n\n".join(texts), row, ref)

    def _result(self, block: rows.ClaudeBlock, row: rows.ClaudeRow, ref: RowRef) -> None:
        turn = self._builder.current_turn(ref)
        self._builder.done = False
        content = self._mask(rows.text_of(block.content))
        added, removed = rows.patch_of(row)
        turn.add_result(block.tool_use_id or ref.key, content, bool(block.is_error), added, removed)
        turn.extend_to(ref)
        self._remember(ref, "Result", (content,))

    def _words(self, text: str, row: rows.ClaudeRow, ref: RowRef) -> None:
        words, builder = classify_user_text(text, meta=bool(row.is_meta)), self._builder
        match words.kind:
            case "prompt":
                self._prompt(words.text, row, ref)
            case "interruption":
                if builder.turn is not None:
                    builder.turn.reason = words.text
                    builder.turn.extend_to(ref)
            case "command":
                builder.add_waiting(ref, Text(words.text))
            case "output":
                # The program ran the command before it, so that was no request of the user.
                ran = builder.take_waiting()
                text = f"{ran.text if ran else ''}\n{words.text}".strip()
                builder.add_waiting(ref, Note("program", text))
            case "note":
                builder.add_note(ref, words.text)
            case "caveat":
                pass

    def _prompt(self, text: str, row: rows.ClaudeRow, ref: RowRef) -> None:
        builder = self._builder
        builder.end_turn()
        if row.parent_uuid and builder.turns:
            to = self._turn_of.get(row.parent_uuid)
            builder.needs_earlier_rows = builder.needs_earlier_rows or to is None
            builder.rewind(ref, builder.turns if to is None else to)
            builder.is_tip_sure = to != builder.turns  # else it follows a row between turns
        builder.start_turn(ref, Text(text))
        self._remember(ref, "User", (text,))

    def _assistant(self, row: rows.ClaudeRow, message: rows.ClaudeMessage, ref: RowRef) -> None:
        turn = self._builder.current_turn(ref)
        parts = rows.parts_of(message.content)
        model = message.model if message.model != _SYNTHETIC else None
        usage = rows.usage_of(message) if model else None
        turn.add_reply(message.id or "", parts, model or "", usage)
        turn.extend_to(ref)
        turn.failed = bool(row.is_api_error_message)
        turn.reason = rows.text_of(message.content)[:_MAX_REASON] if turn.failed else ""
        self._builder.done = turn.failed or (message.stop_reason in _ENDS and turn.answered)
        self._remember(ref, "Assistant", parts)
        self.details.model = model or self.details.model
        if usage is not None:
            self.details.used = usage.input + usage.output

    def _remember(self, ref: RowRef, who: str, parts: Sequence[ReplyPart | str]) -> None:
        """Keeps the newest messages, because a compaction may leave them in view.

        A command that the user typed is a message too: it waited until the model answered it.
        """
        turn = self._builder.turns
        opening = [(key, "User", (part.text,)) for key, part in self._builder.take_opening()]
        for key, by, said in (*opening, (ref.key, who, parts)):
            self._lines.append(MessageLine(key, turn, by, said))
            self._message_turns[key] = turn
            self._message_counts[turn] += 1
        if len(self._lines) > _MAX_LINES:
            del self._lines[: _MAX_LINES // 2]

    def _system(self, row: rows.ClaudeRow, ref: RowRef) -> None:
        builder = self._builder
        if row.subtype == "compact_boundary":
            self._compacted(row, ref)
        elif row.subtype in _STOPS:
            builder.done = builder.done or (builder.turn is not None and builder.turn.answered)
        elif row.subtype == "local_command" and row.content:
            self._words(row.content, structs.replace(row, is_meta=True), ref)

    def _compacted(self, row: rows.ClaudeRow, ref: RowRef) -> None:
        metadata = row.compact_metadata
        self._builder.end_turn(COMPACTED)
        wanted = preserved_ids(metadata, self._lines)
        self._builder.keep_waiting(wanted)
        is_partial = not wanted <= self._turn_of.keys()
        if is_partial:
            self._builder.needs_earlier_rows = True
        rest = preserved_messages(self._lines, wanted, self._builder.turns)
        if row.written_by != rows.WRITER:  # what Sapwood takes out of view may come back
            self._lines = rest.lines
        listed = self._turns_of(wanted)
        whole = tuple(turn for turn, is_whole in listed.items() if is_whole)
        turns = whole if all(listed.values()) and self._builder.is_path(whole) else ()
        is_change = row.written_by == rows.WRITER
        after = metadata.after if metadata else None
        self._builder.begin_compaction(
            ref,
            Boundary(
                0,
                trigger=(metadata and metadata.trigger) or "",
                before_tokens=metadata.before if metadata else None,
                after_tokens=after,
                at=ref.at,
                kept=len(turns) or rest.turns,
                quoted="" if turns else rest.quoted,
                turns=turns,
                cleared=not turns and not rest.quoted and is_change,
                is_change=is_change,
                listed=whole if is_change else (),
                is_partial=is_partial,
            ),
        )
        self.details.used = after
        if metadata and metadata.preserved and metadata.preserved.anchor == row.uuid:
            self._builder.emit_compaction()  # no summary follows

    def _turns_of(self, wanted: set[str]) -> dict[int, bool]:
        """The turns of these rows, and whether all their messages are among the rows."""
        counts = Counter(
            self._message_turns[each] for each in wanted if each in self._message_turns
        )
        return {turn: counts[turn] == self._message_counts[turn] for turn in sorted(counts)}


def _is_noise(row: bytes) -> bool:
    """Whether a row has nothing to do with the conversation; found without decoding it."""
    if row.startswith(b'{"type":"'):
        return row[9 : row.find(b'"', 9)] not in _WANTED
    if b'"message":' in row or b'"queued_command"' in row:
        return False
    return b'"type":"attachment"' in row or b'"type":"progress"' in row


def _uuid_of(row: bytes) -> str:
    """The id of a row, found without decoding it unless a nested object has an id too."""
    if row.count(_UUID) > 1 and (decoded := rows.decode_link_row(row)):
        return decoded.uuid or ""
    return _text_after(_UUID, row)


def _text_after(name: bytes, row: bytes) -> str:
    """The text after this name; empty if the row does not have it."""
    start = row.find(name)
    if start < 0:
        return ""
    start += len(name)
    return row[start : row.find(b'"', start)].decode("utf-8", "replace")
