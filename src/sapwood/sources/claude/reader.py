"""Reads the rows of a Claude Code transcript.

A transcript is append-only, and its rows form a tree by `parentUuid`: side chains are subagents, a
prompt that hangs on an earlier turn is a rewind, and a compaction boundary hangs on nothing.
"""

from collections.abc import Sequence

from msgspec import structs

from sapwood.core.content import Note, ReplyPart, Text
from sapwood.core.secrets import mask_secrets
from sapwood.core.session import Boundary
from sapwood.sources.claude.contents import hash_of, parts_of, shown, text_of, usage_of
from sapwood.sources.claude.keeping import Line, preserved, stayed
from sapwood.sources.claude.rows import Block, Message, Row, decode_row, patch_of
from sapwood.sources.claude.words import words_of
from sapwood.sources.happenings import Happening, Spot
from sapwood.sources.reading import About, Mask, microseconds
from sapwood.sources.thread import COMPACTED, Thread

__all__ = ["ClaudeReader"]

_WANTED = frozenset({b"user", b"assistant", b"system", b"summary", b"custom-title", b"ai-title"})
_ENDS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal"})
_STOPS = frozenset({"stop_hook_summary", "turn_duration"})
_SYNTHETIC = "<synthetic>"
_LONGEST_REASON = 500
_MOST_LINES = 20_000


class ClaudeReader:
    """Reads one conversation: the main one of a transcript, or that of a subagent."""

    source = "claude-code"

    def __init__(self, *, subagent: bool = False, mask: Mask = mask_secrets) -> None:
        self.about = About()
        self._subagent = subagent
        self._mask = mask
        self._thread = Thread()
        self._turn_of: dict[str, int] = {}
        self._said: dict[str, int] = {}
        self._lines: list[Line] = []
        self._chains: dict[str, ClaudeReader] = {}
        self._chain_of: dict[str, ClaudeReader] = {}

    @property
    def lost(self) -> bool:
        """Whether a row referred to rows before the first that was fed."""
        return self._thread.lost

    @property
    def happened(self) -> list[Happening]:
        """What the rows told so far."""
        return self._thread.happened

    @property
    def children(self) -> "list[ClaudeReader]":
        """Readers of the subagents whose rows stand in the same transcript."""
        return list(self._chains.values())

    def feed(self, row: bytes, place: int) -> None:
        """Takes in one row, which begins at this byte of the transcript."""
        if _is_noise(row):
            self._turn_of.setdefault(_uuid_of(row), self._thread.turns)
        elif decoded := decode_row(row):
            at = microseconds(decoded.timestamp)
            self.take(decoded, Spot(decoded.uuid or f"@{place}", at, place))

    def is_named(self, row: bytes, place: int, key: str) -> bool:
        """Whether this row has the key."""
        return _uuid_of(row) == key

    def finish(self, *, growing: bool = False) -> None:
        """Tells the turn that stands last, as open unless it has ended. More rows may follow."""
        self._thread.finish(growing=growing)

    def cut(self) -> None:
        """Forgets the turn that was told last: what follows of it is a turn of its own."""
        self._thread.cut()

    def take(self, row: Row, spot: Spot) -> None:
        """Takes in a row."""
        if row.is_sidechain and not self._subagent:
            self._delegate(row, spot)
            return
        said = hash((row.type, row.is_meta, row.is_compact_summary, hash_of(row.message)))
        if spot.key in self._turn_of:
            if self._said.get(spot.key) == said:
                return  # a row that was written again
            spot = structs.replace(spot, key=f"{spot.key}@{spot.place}")
        self._said[spot.key] = said
        self._describe(row, spot.at)
        match row.type:
            case "user" if row.message:
                self._user(row, row.message, spot)
            case "assistant" if row.message:
                self._assistant(row, row.message, spot)
            case "system":
                self._system(row, spot)
            case "attachment" if row.attachment and row.attachment.type == "queued_command":
                self._words(row.attachment.prompt or "", row, spot)
            case _:
                pass
        self._turn_of[spot.key] = self._thread.turns

    def _describe(self, row: Row, at: int) -> None:
        about = self.about
        if self._subagent:
            about.id = about.id or row.agent_id or ""
            about.parent = row.session_id or about.parent
        else:
            about.id = about.id or row.session_id or ""
        about.folder = about.folder or row.cwd or ""
        about.title = row.custom_title or row.ai_title or row.summary or about.title
        about.updated = max(about.updated, at)

    def _delegate(self, row: Row, spot: Spot) -> None:
        """Gives a row of a side chain to the reader of its subagent."""
        known = self._chain_of.get(row.parent_uuid or "")
        name = row.agent_id or (known.about.id if known else spot.key)
        chain = self._chains.get(name)
        if chain is None:
            chain = self._chains[name] = ClaudeReader(subagent=True, mask=self._mask)
            chain.about.id = name
        self._chain_of[spot.key] = chain
        chain.take(row, spot)

    def _user(self, row: Row, message: Message, spot: Spot) -> None:
        content = message.content
        if row.is_compact_summary:
            self._thread.summarize(spot, text_of(content))
            return
        texts: list[str] = []
        for block in [Block("text", content)] if isinstance(content, str) else content or ():
            if block.type == "tool_result":
                self._result(block, row, spot)
            elif text := shown(block):
                texts.append(text)
        if any(text.strip() for text in texts):
            self._words("\n\n".join(texts), row, spot)

    def _result(self, block: Block, row: Row, spot: Spot) -> None:
        turn = self._thread.opened(spot)
        self._thread.done = False
        content = self._mask(text_of(block.content))
        added, removed = patch_of(row)
        turn.get(block.tool_use_id or spot.key, content, bool(block.is_error), added, removed)
        turn.seen(spot)
        self._remember(spot, "Result", (content,))

    def _words(self, text: str, row: Row, spot: Spot) -> None:
        words, thread = words_of(text, meta=bool(row.is_meta)), self._thread
        match words.kind:
            case "prompt":
                self._prompt(words.text, row, spot)
            case "interruption":
                if thread.turn is not None:
                    thread.turn.reason = words.text
                    thread.turn.seen(spot)
            case "command":
                thread.pending.append(Text(words.text))
            case "output":
                # The program itself ran the command before it: that was no request.
                ran = thread.pending.pop().text if thread.pending else ""
                thread.pending.append(Note("program", f"{ran}\n{words.text}".strip()))
            case "note":
                thread.note(spot, words.text)
            case "caveat":
                pass

    def _prompt(self, text: str, row: Row, spot: Spot) -> None:
        thread = self._thread
        thread.end()
        if row.parent_uuid and thread.turns:
            to = self._turn_of.get(row.parent_uuid)
            thread.lost = thread.lost or to is None
            thread.rewind(spot, thread.turns if to is None else to)
        thread.ask(spot, Text(text))
        self._remember(spot, "User", (text,))

    def _assistant(self, row: Row, message: Message, spot: Spot) -> None:
        turn = self._thread.opened(spot)
        parts = parts_of(message.content)
        model = message.model if message.model != _SYNTHETIC else None
        usage = usage_of(message) if model else None
        turn.say(message.id or "", parts, model or "", usage)
        turn.seen(spot)
        turn.failed = bool(row.is_api_error_message)
        turn.reason = text_of(message.content)[:_LONGEST_REASON] if turn.failed else ""
        self._thread.done = turn.failed or (message.stop_reason in _ENDS and turn.answered)
        self._remember(spot, "Assistant", parts)
        self.about.model = model or self.about.model
        if usage is not None:
            self.about.used = usage.input + usage.output

    def _remember(self, spot: Spot, who: str, parts: Sequence[ReplyPart | str]) -> None:
        """Keeps what a compaction may leave in view: the newest messages."""
        self._lines.append(Line(spot.key, self._thread.turns, who, parts))
        if len(self._lines) > _MOST_LINES:
            del self._lines[: _MOST_LINES // 2]

    def _system(self, row: Row, spot: Spot) -> None:
        thread = self._thread
        if row.subtype == "compact_boundary":
            self._compacted(row, spot)
        elif row.subtype in _STOPS:
            thread.done = thread.done or (thread.turn is not None and thread.turn.answered)
        elif row.subtype == "local_command" and row.content:
            self._words(row.content, structs.replace(row, is_meta=True), spot)

    def _compacted(self, row: Row, spot: Spot) -> None:
        told = row.compact_metadata
        self._thread.end(COMPACTED)
        wanted = preserved(told, self._lines)
        if not wanted <= self._turn_of.keys():
            self._thread.lost = True
        rest = stayed(self._lines, wanted, self._thread.turns)
        self._lines = rest.lines
        after = told.after if told else None
        self._thread.compact(
            spot,
            Boundary(
                0,
                trigger=(told and told.trigger) or "",
                before_tokens=told.before if told else None,
                after_tokens=after,
                at=spot.at,
                kept=rest.turns,
                quoted=rest.quoted,
            ),
        )
        self.about.used = after


def _is_noise(row: bytes) -> bool:
    """Whether a row says nothing of the conversation, told without decoding it."""
    if row.startswith(b'{"type":"'):
        return row[9 : row.find(b'"', 9)] not in _WANTED
    if b'"message":' in row or b'"queued_command"' in row:
        return False
    return b'"type":"attachment"' in row or b'"type":"progress"' in row


def _uuid_of(row: bytes) -> str:
    """The id of a row, told without decoding it: the last one, as nested objects come first."""
    start = row.rfind(b'"uuid":"') + 8
    return row[start : row.find(b'"', start)].decode("utf-8", "replace") if start > 7 else ""
