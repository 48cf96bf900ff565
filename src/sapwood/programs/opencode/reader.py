"""Reads the log of an opencode session.

A message and its parts are written many times while they grow, so a turn is built when the next one
begins. Messages can be removed, reverted and written again; the difference to what was in view is
emitted before the next turn.
"""

from msgspec import structs

from sapwood.analysis.session import Boundary
from sapwood.core.content import Text
from sapwood.programs.opencode import rows
from sapwood.programs.opencode.program import PROGRAM
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.transcript_events import Mask, RowRef
from sapwood.redaction import mask_secrets

_REMOVED = "Some turns were removed from this session."


class _Message:
    """A message that may still grow."""

    def __init__(self, info: rows.Info, ref: RowRef) -> None:
        self.info = info
        self.ref = ref
        self.parts: dict[str, rows.Part] = {}

    def extend(self, offset: int) -> None:
        """Moves an answer to its last row. A prompt stays: it is written again after its turn."""
        if self.info.role != "user":
            self.ref = RowRef(self.ref.key, self.ref.at, offset)

    @property
    def compaction(self) -> rows.Part | None:
        """The part that makes a prompt the first half of a compaction."""
        return next((each for each in self.parts.values() if each.type == "compaction"), None)

    @property
    def text(self) -> str:
        """The texts of its parts."""
        texts = [each.text for each in self.parts.values() if each.type == "text" and each.text]
        return "\n\n".join(texts)


class OpencodeReader(TranscriptReader):
    """Reads one conversation. The key of a turn is that of its message, others are of events."""

    source = PROGRAM.name

    def __init__(self, *, mask: Mask = mask_secrets) -> None:
        super().__init__(mask)
        self._open: dict[str, _Message] = {}
        self._turn_of: dict[str, int] = {}
        self._prompts: list[str] = []
        self._texts: list[str] = []
        self._shown: list[int] = []
        self._pair = ""
        self._removed: set[str] = set()
        self._reverted = ""
        self._moved: RowRef | None = None

    def feed(self, row: bytes, offset: int) -> None:
        """Takes in one event with its number."""
        decoded = rows.decode_row(row)
        if decoded is None or decoded.data is None:
            return
        data, ref = decoded.data, RowRef(decoded.id or f"@{offset}", self.details.updated, offset)
        match (decoded.type or "").rpartition(".")[0]:
            case "session.created" | "session.updated" if data.info is not None:
                self._describe(data.info, ref)
            case "message.updated" if data.info is not None and data.info.id:
                self._message(data.info, data.info.id, ref)
            case "message.part.updated" if data.part is not None:
                self._part(data.part, ref)
            case "message.part.removed":
                if (message := self._open.get(data.message_id or "")) is not None:
                    message.parts.pop(data.part_id or "", None)
            case "message.removed":
                self._remove(data, ref)
            case _:
                pass

    def has_key(self, row: bytes, offset: int, key: str) -> bool:
        """Whether this event is about the message."""
        return f'"{key}"'.encode("utf-8", "replace") in row

    def finish(self, *, growing: bool = False) -> None:
        """Emits the last turn, as open unless it has ended. More rows may follow."""
        if self._moved or self._is_pair:
            if not (growing and self._is_pair):
                self._end()
                self._move()
        else:
            self._build()
        super().finish(growing=growing)

    def forget_last_turn(self) -> None:
        """Forgets the last turn; what is written to its messages later changes nothing."""
        self._close()
        super().forget_last_turn()

    # What the events say

    def _describe(self, info: rows.Info, ref: RowRef) -> None:
        about = self.details
        about.id = about.id or info.id or ""
        about.folder = info.directory or about.folder
        about.title = info.title or about.title
        about.parent = info.parent_id or about.parent
        about.model = (info.model and info.model.id) or about.model
        updated = ((info.time and info.time.updated) or 0) * 1000
        about.updated = max(about.updated, updated)
        reverted = (info.revert and info.revert.message_id) or ""
        if reverted != self._reverted:
            self._reverted = reverted
            self._moved = ref

    def _message(self, info: rows.Info, name: str, ref: RowRef) -> None:
        self.details.updated = max(self.details.updated, info.at)
        if info.role == "assistant":
            self.details.model = info.model_id or self.details.model
            if (usage := rows.usage_of(info.tokens)) is not None and not info.is_summary:
                self.details.used = usage.input + usage.output
        if (known := self._open.get(name)) is not None:
            known.info = info
            known.extend(ref.offset)
        elif info.parent_id in self._turn_of and info.parent_id not in self._open:
            self._turn_of[name] = self._turn_of[info.parent_id]  # of a turn that has ended
        elif name not in self._turn_of:
            if info.role == "user":
                self._end()
                self._move()
            elif not self._open:
                self._builder.needs_earlier_rows = True
            self._open[name] = _Message(info, RowRef(name, info.at, ref.offset))
            self._turn_of[name] = self._builder.turns

    def _part(self, part: rows.Part, ref: RowRef) -> None:
        if part.message_id in self._removed:  # a message without parts is not sent
            self._removed.discard(part.message_id)
            self._moved = ref
        message = self._open.get(part.message_id or "")
        if message is not None and part.id:
            message.parts[part.id] = part
            message.extend(ref.offset)

    def _remove(self, data: rows.Data, ref: RowRef) -> None:
        if data.message_id:
            self._removed.add(data.message_id)
            self._moved = ref

    # Turns

    @property
    def _is_pair(self) -> bool:
        first = next(iter(self._open.values()), None)
        return first is not None and first.compaction is not None

    def _end(self) -> None:
        """Ends what is open: a turn, or a compaction."""
        if self._is_pair:
            self._compact(*self._open.values())
            self._open.clear()
            return
        self._build()
        turn = self._builder.turn
        if turn is not None and turn.is_empty:
            self._builder.turn = None
        self._close()
        self._builder.end_turn()

    def _close(self) -> None:
        """Remembers the open turn as one that has ended."""
        first = next(iter(self._open.values()), None)
        if first is not None and self._builder.turn is not None:
            self._shown.append(self._builder.turns)
            self._prompts.append(first.ref.key)
            self._texts.append("\n\n".join(each.text for each in self._open.values()))
        self._open.clear()

    def _build(self) -> None:
        """Builds the turn from its messages as they are now."""
        builder, builder.turn = self._builder, None
        builder.done = False
        for message in self._open.values():
            if message.info.role == "user":
                prompt = rows.prompt_of(list(message.parts.values())) or [Text("")]
                turn = builder.start_turn(message.ref, prompt[0])
                for part in prompt[1:]:
                    turn.add(part)
            else:
                self._reply(message)

    def _reply(self, message: _Message) -> None:
        info, parts = message.info, list(message.parts.values())
        turn = self._builder.current_turn(message.ref)
        turn.add_reply(
            message.ref.key, rows.reply_of(parts), info.model_id or "", rows.usage_of(info.tokens)
        )
        for part in parts:
            if part.type == "tool" and part.call_id and (result := rows.result_of(part.state)):
                changed = part.state and part.state.metadata and part.state.metadata.filediff
                lines = (changed.additions or 0, changed.deletions or 0) if changed else (0, 0)
                turn.add_result(part.call_id, self._mask(result[0]), result[1], *lines)
        if info.error is not None:
            turn.reason = info.error.message
            turn.failed = info.error.name != rows.ABORTED
        turn.extend_to(message.ref)
        self._builder.done = info.has_ended

    # Changes of what is in view

    def _compact(self, prompt: _Message, *answers: _Message) -> None:
        """A compaction counts once its summary is there."""
        part = prompt.compaction
        summary = next((each for each in answers if each.info.is_summary), None)
        if part is None or summary is None or summary.info.error or not summary.info.finish:
            return
        self._move()
        kept = 0
        if (first := self._turn_of.get(part.tail_start_id or "")) is not None:
            kept = sum(turn >= first for turn in self._shown)
        boundary = Boundary(
            0,
            "auto" if part.auto else "manual",
            summary=self._mask(summary.text),
            at=prompt.ref.at,
            kept=kept,
            is_change=part.is_of_sapwood,
            listed=tuple(self._shown[-kept:]) if part.is_of_sapwood and kept else (),
        )
        self._emit(prompt.ref, boundary)
        self._pair = prompt.ref.key

    def _move(self) -> None:
        """Emits what removals and reverts changed, if anything."""
        ref, self._moved = self._moved, None
        if ref is None:
            return
        live = self._live()
        uncompacted = self._pair in self._removed
        if live == self._shown and not uncompacted:
            return
        builder = self._builder
        self._shown = live
        if uncompacted:
            self._pair = ""
        if ref.key in self._passed_over:
            return
        if not uncompacted and (not live or live == self._path_to(live[-1])):
            builder.rewind(ref, live[-1] if live else -1)
            return
        change = Boundary(0, at=ref.at, is_change=True, listed=tuple(live))
        boundary = structs.replace(change, turns=tuple(live), cleared=not live)
        if not builder.is_path(live) and live:
            texts = "\n\n".join(self._texts[turn] for turn in live)
            boundary = structs.replace(change, summary=_REMOVED, quoted=self._mask(texts))
        self._emit(ref, boundary)

    def _emit(self, ref: RowRef, boundary: Boundary) -> None:
        self._builder.begin_compaction(ref, boundary)
        self._builder.emit_compaction()

    def _path_to(self, turn: int) -> list[int]:
        """The turns from the first one to this one, each of which follows the one before it."""
        path: list[int] = []
        while turn >= 0:
            path.insert(0, turn)
            turn = self._builder.parent_of(turn)
        return path

    def _live(self) -> list[int]:
        """The turns that are neither removed nor reverted."""
        end = self._turn_of.get(self._reverted, len(self._prompts))
        if self._reverted and self._reverted not in self._prompts:
            end += 1  # reverted from the middle of a turn
        found = range(min(end, len(self._prompts)))
        return [turn for turn in found if self._prompts[turn] not in self._removed]
