"""Reads the rows of a Gemini CLI chat.

A row may replace an earlier one, so a turn is built when the next one begins.
"""

from sapwood.analysis.session import Boundary
from sapwood.core.content import Text
from sapwood.programs.gemini import rows
from sapwood.programs.gemini.program import PROGRAM
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.transcript_events import (
    Mask,
    RowRef,
    microseconds,
)
from sapwood.redaction import mask_secrets


class GeminiReader(TranscriptReader):
    """Reads one conversation."""

    source = PROGRAM.name

    def __init__(self, *, parent: str = "", mask: Mask = mask_secrets) -> None:
        super().__init__(mask)
        self.details.parent = parent
        self._messages: dict[str, tuple[rows.GeminiMessage, RowRef]] = {}
        self._turn_of: dict[str, int] = {}
        self._content_hashes: dict[str, int] = {}
        self._began: int | None = None

    def feed(self, row: bytes, offset: int) -> None:
        """Takes in one row that begins at this byte, or a whole chat, as older versions wrote."""
        self._began = offset if self._began is None else self._began
        decoded = rows.decode_row(row)
        if decoded is None:
            return
        self._describe(decoded)
        if decoded.rewind_to:
            self._rewind(decoded.rewind_to, offset)
        elif decoded.change and decoded.change.messages:
            self._replace(decoded.change.messages, offset)
        elif decoded.id:
            self._take(decoded, decoded.id, offset)
        for message in decoded.messages or ():
            if message.id:
                self._take(message, message.id, offset)

    def has_key(self, row: bytes, offset: int, key: str) -> bool:
        """Whether this row has the key."""
        return f'"id":"{key}"'.encode("utf-8", "replace") in row

    def finish(self, *, growing: bool = False) -> None:
        """Emits the last turn, as open unless it has ended. More rows may follow."""
        self._build()
        super().finish(growing=growing)

    def forget_last_turn(self) -> None:
        """Forgets the last turn; further rows make a new turn."""
        self._messages.clear()
        super().forget_last_turn()

    def _describe(self, row: rows.GeminiRow) -> None:
        about, change = self.details, row.change
        about.id = about.id or row.session_id or (change and change.session_id) or ""
        about.title = row.summary or (change and change.summary) or about.title
        if change and change.directories and not about.folder:
            about.folder = change.directories[0]

    def _take(self, message: rows.GeminiMessage, key: str, offset: int) -> None:
        if rows.is_own(message):
            return
        if key in self._messages:
            if self._messages[key][0].type != message.type:
                key = f"{key}@{offset}"  # a message of another type replaces nothing
        elif key in self._turn_of:
            if self._content_hashes.get(key) == rows.hash_of(message):
                return  # of a turn that was emitted before
            key = f"{key}@{offset}"
        at = microseconds(message.timestamp)
        self.details.updated = max(self.details.updated, at)
        if message.type == "user" and key not in self._messages:
            self._end()
        elif message.type == "gemini" and not self._messages:
            self._builder.needs_earlier_rows = True
        self._messages[key] = message, RowRef(key, at, offset)
        self._content_hashes[key] = rows.hash_of(message)
        self._turn_of[key] = self._builder.turns
        if message.type == "gemini":
            self.details.model = message.model or self.details.model
            if message.tokens and message.tokens.total:
                self.details.used = message.tokens.total

    def _end(self) -> None:
        self._build()
        self._builder.end_turn()
        self._messages.clear()

    def _build(self) -> None:
        """Builds the turn from its messages as they are now."""
        builder, builder.turn = self._builder, None
        for message, ref in self._messages.values():
            if message.type == "user":
                builder.start_turn(ref, Text(rows.text_of(message.content)))
            elif message.type == "gemini":
                self._reply(message, ref)

    def _reply(self, message: rows.GeminiMessage, ref: RowRef) -> None:
        turn = self._builder.current_turn(ref)
        turn.add_reply(ref.key, rows.parts_of(message), message.model or "", rows.usage_of(message))
        for call in message.tool_calls or ():
            if call.id and (result := rows.result_of(call)):
                turn.add_result(call.id, self._mask(result[0]), result[1])
        turn.extend_to(ref)
        self._builder.done = turn.answered and not message.tool_calls

    def _rewind(self, key: str, offset: int) -> None:
        self._end()
        turn = self._turn_of.get(key)
        if turn is None:
            self._builder.needs_earlier_rows = True
        else:
            self._builder.rewind(RowRef(f"@{offset}", self.details.updated, offset), turn - 1)

    def _replace(self, messages: list[rows.GeminiMessage], offset: int) -> None:
        """A history that begins with an unknown message is a summary and the messages it kept.

        Every start of the program writes the whole history again.
        """
        said = [message for message in messages if not rows.is_own(message)]
        if not said or said[0].id in self._turn_of or not said[0].id:
            return
        if self._began:
            self._builder.needs_earlier_rows = True  # the message may be in an earlier row
            return
        first, *kept = said
        self._end()
        quoted = [f"{message.type}: {rows.text_of(message.content)}" for message in kept]
        ref = RowRef(f"@{offset}", self.details.updated, offset)
        summary = self._mask(rows.text_of(first.content))
        boundary = Boundary(0, summary=summary, at=ref.at, quoted=self._mask("\n\n".join(quoted)))
        self._builder.begin_compaction(ref, boundary)
        self._builder.emit_compaction()
        self._turn_of.update({m.id: self._builder.turns for m in messages if m.id})
