"""Reads the rows of a Gemini CLI chat.

A row may take the place of an earlier one, so a turn is put together when the next begins.
"""

from sapwood.core.content import Text
from sapwood.core.secrets import mask_secrets
from sapwood.core.session import Boundary
from sapwood.sources.gemini.contents import hash_of, parts_of, result_of, text_of, usage_of
from sapwood.sources.gemini.rows import Message, Row, decode_row
from sapwood.sources.happenings import Happening, Spot
from sapwood.sources.reading import About, Mask, microseconds
from sapwood.sources.thread import Thread

__all__ = ["GeminiReader"]


class GeminiReader:
    """Reads one conversation."""

    source = "gemini"

    def __init__(self, *, parent: str = "", mask: Mask = mask_secrets) -> None:
        self.about = About(parent=parent)
        self._mask = mask
        self._thread = Thread()
        self._messages: dict[str, tuple[Message, Spot]] = {}
        self._turn_of: dict[str, int] = {}
        self._said: dict[str, int] = {}

    @property
    def lost(self) -> bool:
        """Whether a row referred to rows before the first that was fed."""
        return self._thread.lost

    @property
    def happened(self) -> list[Happening]:
        """What the rows told so far."""
        return self._thread.happened

    @property
    def children(self) -> "list[GeminiReader]":
        """Subagents have chats of their own."""
        return []

    def feed(self, row: bytes, place: int) -> None:
        """Takes in one row, which begins at this byte; or a whole chat, as older versions wrote."""
        decoded = decode_row(row)
        if decoded is None:
            return
        self._describe(decoded)
        if decoded.rewind_to:
            self._rewind(decoded.rewind_to, place)
        elif decoded.change and decoded.change.messages:
            self._replace(decoded.change.messages, place)
        elif decoded.id:
            self._take(decoded, decoded.id, place)
        for message in decoded.messages or ():
            if message.id:
                self._take(message, message.id, place)

    def is_named(self, row: bytes, place: int, key: str) -> bool:
        """Whether this row has the key."""
        return f'"id":"{key}"'.encode("utf-8", "replace") in row

    def finish(self, *, growing: bool = False) -> None:
        """Tells the turn that stands last, as open unless it has ended. More rows may follow."""
        self._build()
        self._thread.finish(growing=growing)

    def cut(self) -> None:
        """Forgets the turn that was told last: what follows of it is a turn of its own."""
        self._messages.clear()
        self._thread.cut()

    def _describe(self, row: Row) -> None:
        about, change = self.about, row.change
        about.id = about.id or row.session_id or (change and change.session_id) or ""
        about.title = row.summary or (change and change.summary) or about.title
        if change and change.directories and not about.folder:
            about.folder = change.directories[0]

    def _take(self, message: Message, key: str, place: int) -> None:
        if key in self._messages:
            if self._messages[key][0].type != message.type:
                key = f"{key}@{place}"  # nothing takes the place of something else
        elif key in self._turn_of:
            if self._said.get(key) == hash_of(message):
                return  # of a turn that was told
            key = f"{key}@{place}"
        at = microseconds(message.timestamp)
        self.about.updated = max(self.about.updated, at)
        if message.type == "user" and key not in self._messages:
            self._end()
        elif message.type == "gemini" and not self._messages:
            self._thread.lost = True
        self._messages[key] = message, Spot(key, at, place)
        self._said[key] = hash_of(message)
        self._turn_of[key] = self._thread.turns
        if message.type == "gemini":
            self.about.model = message.model or self.about.model
            if message.tokens and message.tokens.total:
                self.about.used = message.tokens.total

    def _end(self) -> None:
        self._build()
        self._thread.end()
        self._messages.clear()

    def _build(self) -> None:
        """Puts the turn together from its messages as they are now."""
        thread, thread.turn = self._thread, None
        for message, spot in self._messages.values():
            if message.type == "user":
                thread.ask(spot, Text(text_of(message.content)))
            elif message.type == "gemini":
                self._reply(message, spot)

    def _reply(self, message: Message, spot: Spot) -> None:
        turn = self._thread.opened(spot)
        turn.say(spot.key, parts_of(message), message.model or "", usage_of(message))
        for call in message.tool_calls or ():
            if call.id and (result := result_of(call)):
                turn.get(call.id, self._mask(result[0]), result[1])
        turn.seen(spot)
        self._thread.done = turn.answered and not message.tool_calls

    def _rewind(self, key: str, place: int) -> None:
        self._end()
        turn = self._turn_of.get(key)
        if turn is None:
            self._thread.lost = True
        else:
            self._thread.rewind(Spot(f"@{place}", self.about.updated, place), turn - 1)

    def _replace(self, messages: list[Message], place: int) -> None:
        """A history that begins with a message nobody sent is a summary and what was kept."""
        first, *kept = messages
        if first.id in self._turn_of or not first.id:
            return
        self._end()
        quoted = [f"{message.type}: {text_of(message.content)}" for message in kept]
        spot = Spot(f"@{place}", self.about.updated, place)
        summary = self._mask(text_of(first.content))
        boundary = Boundary(0, summary=summary, at=spot.at, quoted=self._mask("\n\n".join(quoted)))
        self._thread.compact(spot, boundary)
        self._thread.tell_boundary()
        self._turn_of.update({m.id: self._thread.turns for m in messages if m.id})
