"""Reads the rows of a turn while Codex writes them, and makes replies and results of them.

The reader of imported rollouts makes the parts, so a turn that ran here and the same turn when it
is imported are alike.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import structs

from sapwood.core.content import RecordedReply, RecordedResult, ToolCall, Usage
from sapwood.core.ids import TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.programs.agent_provider import ProviderReply, ProviderResult
from sapwood.programs.codex.contents import usage_of
from sapwood.programs.codex.reader import CodexReader
from sapwood.programs.codex.rows import RawRow, decode_item, decode_raw_row
from sapwood.programs.codex.sessions import row_key
from sapwood.programs.transcripts.row_file import FilePosition, RowFile
from sapwood.programs.transcripts.transcript_events import TranscriptCompaction, TranscriptTurn


class TurnRows:
    """The rows of one turn, from a place in a file on."""

    def __init__(self, path: Path, offset: int, turn: str) -> None:
        self._path = path
        self._turn = turn
        self._file: RowFile | None = None
        self._offset = offset
        self._reader = CodexReader()
        self._seen = False
        self._usages: list[Usage] = []
        self._emitted = 0
        self._parts = 0
        self._earlier: list[TranscriptTurn] = []
        self.ending = ""
        self.was_compacted = False

    def read(self) -> None:
        """Takes in what is new. A file that is not there yet has no rows."""
        if self.ending:
            return
        try:
            if self._file is None:
                status = self._path.stat()
                place = FilePosition((status.st_dev, status.st_ino), self._offset)
                self._file = RowFile(self._path, place)
            for data, offset in self._file.read():
                self._take(data, offset)
                if self.ending:
                    return
        except OSError:
            return

    def _take(self, data: bytes, offset: int) -> None:
        row = decode_raw_row(data)
        if row is None:
            return
        if row.type == "event_msg" or row.type == "token_usage_record":
            self._mark(row)
        if self._seen:
            self._reader.feed(data, offset)

    def _mark(self, row: RawRow) -> None:
        payload = decode_item(row.payload)
        if payload is None or payload.turn_id != self._turn:
            return
        if row.type == "token_usage_record":
            if payload.usage is not None:
                self._usages.append(usage_of(payload.usage))
            return
        match payload.type:
            case "task_started":
                self._seen = True
            case "task_complete" | "turn_aborted":
                self.ending = payload.type
            case _:
                pass

    def turn(self) -> TranscriptTurn | None:
        """The turn so far; None if its prompt has not been written yet.

        A compaction in the middle cuts a turn in two for the reader; here it is one.
        """
        events = self._reader.events
        for event in events:
            if isinstance(event, TranscriptTurn):
                self._earlier.append(event)
            self.was_compacted = self.was_compacted or isinstance(event, TranscriptCompaction)
        events.clear()
        self._reader.finish(growing=True)
        pieces = [*self._earlier, *(each for each in events if isinstance(each, TranscriptTurn))]
        events.clear()
        if not pieces:
            return None
        items = tuple(item for piece in pieces for item in piece.items)
        return structs.replace(pieces[-1], first=pieces[0].first, items=items)

    @property
    def replies(self) -> int:
        """How many requests to the model have been answered."""
        return len(self._usages)

    def new_events(
        self, diffs: Mapping[str, str], *, max_replies: int | None = None, at_once: bool = False
    ) -> Iterator[ProviderReply | ProviderResult]:
        """The replies and results since the last call, up to `max_replies` replies of the turn.

        A reply that may still grow is held back, unless `at_once`: then its further parts come in
        a reply of their own.
        """
        turn = self.turn()
        if turn is None:
            return
        replies = sum(isinstance(item, RecordedReply) for item in turn.items[: self._emitted])
        for number, item in enumerate(turn.items):
            if number < self._emitted:
                continue
            if isinstance(item, RecordedResult):
                yield ProviderResult(item.call, item.content, item.error, diffs.get(item.call, ""))
                self._emitted, self._parts = number + 1, 0
                continue
            if max_replies is not None and replies >= max_replies:
                return
            last = number == len(turn.items) - 1
            complete = not last or replies < self.replies or bool(self.ending)
            if not complete and not at_once:
                return
            parts = item.parts[self._parts :]
            if parts:
                usage = self._usages[replies] if replies < self.replies else item.usage
                yield ProviderReply(parts, item.model, usage)
            if complete:
                self._emitted, self._parts = number + 1, 0
                replies += 1
            else:
                self._parts = len(item.parts)

    def has_call(self, call: str) -> bool:
        """Whether a tool call with this id, and the whole reply that it is in, was written."""
        turn = self.turn()
        if turn is None:
            return False
        replies = [item for item in turn.items if isinstance(item, RecordedReply)]
        calls = {part.id for reply in replies for part in reply.parts if type(part) is ToolCall}
        return call in calls and self.replies >= len(replies)

    def native(self, session: ProgramSession) -> NativeRows | None:
        """The names of the turn's rows and the hash of their bytes."""
        turn = self.turn()
        if turn is None:
            return None
        first, last = turn.first.offset, turn.last.offset
        try:
            with self._path.open("rb") as file:
                file.seek(first)
                data = file.read(last - first) + file.readline()
        except OSError:
            return None
        keys = row_key(self._path, first), row_key(self._path, last)
        digest = hashlib.sha256(data).hexdigest()
        return NativeRows(session, TranscriptRange(*keys, last), digest, self._turn)
