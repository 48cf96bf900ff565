"""Reads the rows of a Claude Code transcript.

A transcript is append-only, and its rows form a tree by `parentUuid`: side chains are subagents, a
prompt that hangs on an earlier turn is a rewind, and a compaction boundary hangs on nothing.
"""

from msgspec import structs

from sapwood.core.content import Note, PromptPart, ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.core.secrets import mask_secrets
from sapwood.core.session import Boundary
from sapwood.sources.building import TurnBuilder
from sapwood.sources.claude.keeping import Line, preserved, spoken, stayed
from sapwood.sources.claude.rows import Block, Message, Row, decode_row, patch_of
from sapwood.sources.claude.words import words_of
from sapwood.sources.reading import About, Mask, microseconds
from sapwood.sources.steps import Compacted, Rewound, Step

__all__ = ["ClaudeReader"]

_WANTED = frozenset({b"user", b"assistant", b"system", b"summary", b"custom-title", b"ai-title"})
_ENDS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal"})
_STOPS = frozenset({"stop_hook_summary", "turn_duration"})
_SYNTHETIC = "<synthetic>"
_COMPACTED = "The context was compacted here."


class ClaudeReader:
    """Reads one conversation: the main one of a transcript, or that of a subagent."""

    source = "claude-code"

    def __init__(self, *, subagent: bool = False, mask: Mask = mask_secrets) -> None:
        self.about = About()
        self.steps: list[Step] = []
        self.lost = False
        self._subagent = subagent
        self._mask = mask
        self._turn: TurnBuilder | None = None
        self._done = False
        self._turns = 0
        self._pending: list[PromptPart] = []
        self._turn_of: dict[str, int] = {}
        self._lines: list[Line] = []
        self._boundary: Compacted | None = None
        self._chains: dict[str, ClaudeReader] = {}
        self._chain_of: dict[str, ClaudeReader] = {}

    @property
    def children(self) -> "list[ClaudeReader]":
        """Readers of the subagents whose rows stand in the same transcript."""
        return list(self._chains.values())

    def feed(self, row: bytes, place: int) -> None:
        """Takes in one row, which begins at this byte of the transcript."""
        if _is_noise(row):
            uuid = _uuid_of(row)
            if uuid in self._turn_of:
                return
            self._turn_of[uuid] = self._turns
        elif decoded := decode_row(row):
            self._take(decoded, decoded.uuid or f"@{place}")

    def finish(self) -> None:
        """Tells the turn that stands last, as open unless it has ended. More rows may follow."""
        self._tell_boundary()
        if self._turn is not None:
            self.steps.append(self._turn.told(None if self._has_ended else "open"))

    def cut(self) -> None:
        """Forgets the turn that was told last, because it was taken as ended: what follows of it
        is a turn of its own."""
        if self._turn is not None:
            self._turns += 1
        self._turn, self._done = None, False

    @property
    def _has_ended(self) -> bool:
        return self._turn is not None and (self._done or self._turn.reason != "")

    def _take(self, row: Row, key: str) -> None:
        at = microseconds(row.timestamp)
        if row.is_sidechain and not self._subagent:
            self._delegate(row, key)
            return
        if key in self._turn_of:
            return  # a row that was written again
        self._describe(row, at)
        match row.type:
            case "user" if row.message:
                self._user(row, row.message, key, at)
            case "assistant" if row.message:
                self._assistant(row, row.message, key, at)
            case "system":
                self._system(row, key, at)
            case "attachment" if row.attachment and row.attachment.type == "queued_command":
                self._words(row.attachment.prompt or "", row, key, at)
            case _:
                pass
        self._turn_of[key] = self._turns
        if self._turn is not None:
            self._turn.seen(key, at)

    def _describe(self, row: Row, at: int) -> None:
        about = self.about
        if self._subagent:
            about.id = row.agent_id or about.id
            about.parent = row.session_id or about.parent
        else:
            about.id = row.session_id or about.id
        about.folder = about.folder or row.cwd or ""
        about.title = row.custom_title or row.ai_title or row.summary or about.title
        about.updated = max(about.updated, at)

    def _delegate(self, row: Row, key: str) -> None:
        """Gives a row of a side chain to the reader of its subagent."""
        known = self._chain_of.get(row.parent_uuid or "")
        name = row.agent_id or (known.about.id if known else key)
        chain = self._chains.get(name)
        if chain is None:
            chain = self._chains[name] = ClaudeReader(subagent=True, mask=self._mask)
            chain.about.id = name
        self._chain_of[key] = chain
        chain._take(row, key)

    def _user(self, row: Row, message: Message, key: str, at: int) -> None:
        content = message.content
        if row.is_compact_summary:
            self._summarized(_text(content), key, at)
            return
        self._tell_boundary()
        texts: list[str] = []
        for block in [Block("text", content)] if isinstance(content, str) else content or ():
            if block.type == "tool_result":
                self._result(block, row, key, at)
            elif shown := _shown(block):
                texts.append(shown)
        if texts:
            self._words("\n\n".join(texts), row, key, at)

    def _result(self, block: Block, row: Row, key: str, at: int) -> None:
        turn = self._opened(key, at)
        self._done = False
        content = self._mask(_text(block.content))
        added, removed = patch_of(row)
        turn.get(block.tool_use_id or key, content, bool(block.is_error), added, removed)
        self._lines.append(Line(key, self._turns, "Result", (content,)))

    def _words(self, text: str, row: Row, key: str, at: int) -> None:
        words = words_of(text, meta=bool(row.is_meta))
        match words.kind:
            case "prompt":
                self._prompt(words.text, row, key, at)
            case "interruption":
                if self._turn is not None:
                    self._turn.reason = words.text
            case "command":
                self._pending.append(Text(words.text))
            case "output":
                self._put_out(words.text)
            case "note":
                self._note(words.text)
            case "caveat":
                pass

    def _prompt(self, text: str, row: Row, key: str, at: int) -> None:
        self._end()
        self._rewind(row, key, at)
        self._open(key, at, Text(text))
        self._lines.append(Line(key, self._turns, "User", (text,)))

    def _rewind(self, row: Row, key: str, at: int) -> None:
        """Notices a prompt that hangs on an earlier turn than the last."""
        if row.parent_uuid is None or not self._turns:
            return
        to = self._turn_of.get(row.parent_uuid)
        if to is None:
            self.lost = True
        elif to < self._turns - 1:
            self.steps.append(Rewound(key, to, at))

    def _put_out(self, text: str) -> None:
        """A command was run by the program itself: it was no request, and this is its output."""
        ran = self._pending.pop().text if self._pending else ""
        if said := f"{ran}\n{text}".strip():
            self._pending.append(Note("program", said))

    def _note(self, text: str) -> None:
        note = Note("program", text)
        if self._turn is not None and not self._has_ended:
            self._turn.add(note)
        elif text:
            self._pending.append(note)

    def _assistant(self, row: Row, message: Message, key: str, at: int) -> None:
        self._tell_boundary()
        if self._pending and self._has_ended:
            self._end()
        turn = self._opened(key, at)
        parts = _parts(message.content)
        is_own = message.model not in (None, _SYNTHETIC)
        usage = _usage(message) if is_own else None
        turn.say(message.id or "", parts, (message.model or "") if is_own else "", usage)
        turn.failed = bool(row.is_api_error_message)
        turn.reason = _text(message.content)[:500] if turn.failed else ""
        self._done = turn.failed or (message.stop_reason in _ENDS and turn.answered)
        self._lines.append(Line(key, self._turns, "Assistant", spoken(parts)))
        if is_own:
            self.about.model = message.model or ""
        if usage is not None:
            self.about.used = usage.input + usage.output

    def _system(self, row: Row, key: str, at: int) -> None:
        if row.subtype == "compact_boundary":
            self._compacted(row, key, at)
        elif row.subtype in _STOPS:
            self._done = self._done or (self._turn is not None and self._turn.answered)
        elif row.subtype == "local_command" and row.content:
            self._words(row.content, structs.replace(row, is_meta=True), key, at)

    def _compacted(self, row: Row, key: str, at: int) -> None:
        self._tell_boundary()
        self._end(_COMPACTED)
        told = row.compact_metadata
        wanted = preserved(told, self._lines)
        self.lost = self.lost or not wanted <= self._turn_of.keys()
        rest = stayed(self._lines, wanted, self._turns)
        self._lines = rest.lines
        boundary = Boundary(
            after=self._turns,
            trigger=(told and told.trigger) or "",
            before_tokens=told.before if told else None,
            after_tokens=told.after if told else None,
            at=at,
            kept=rest.turns,
            quoted=rest.quoted,
        )
        self._boundary = Compacted(key, boundary)
        self.about.used = boundary.after_tokens

    def _summarized(self, text: str, key: str, at: int) -> None:
        if self._boundary is None and not self._turns and self._turn is None:
            self._pending.append(Note("program", text))
            return
        if self._boundary is None:
            self._end(_COMPACTED)
            self._boundary = Compacted(key, Boundary(after=self._turns, at=at))
        told = structs.replace(self._boundary.boundary, summary=text)
        self._boundary = Compacted(self._boundary.key, told)
        self._tell_boundary()

    def _tell_boundary(self) -> None:
        if self._boundary is not None:
            self.steps.append(self._boundary)
            self._boundary = None

    def _opened(self, key: str, at: int) -> TurnBuilder:
        """The turn that a reply or a result belongs to."""
        return self._turn or self._open(key, at)

    def _open(self, key: str, at: int, *prompt: PromptPart) -> TurnBuilder:
        parts = (*self._pending, *prompt)
        self._pending.clear()
        self._turn = TurnBuilder(key, at, parts) if parts else TurnBuilder(key, at)
        self._done = False
        return self._turn

    def _end(self, reason: str = "") -> None:
        if self._turn is None:
            return
        self.steps.append(self._turn.told(reason=reason))
        self.cut()


def _is_noise(row: bytes) -> bool:
    """Whether a row says nothing of the conversation, told without decoding it."""
    if row.startswith(b'{"type":"'):
        return row[9 : row.find(b'"', 9)] not in _WANTED
    if b'"message":' in row or b'"queued_command"' in row:
        return False
    return b'"type":"attachment"' in row or b'"type":"progress"' in row


def _uuid_of(row: bytes) -> str:
    start = row.rfind(b'"uuid":"') + 8
    return row[start : start + 36].decode("ascii", "replace") if start > 7 else ""


def _parts(content: str | list[Block] | None) -> list[ReplyPart]:
    if isinstance(content, str):
        return [Text(content)]
    found: list[ReplyPart] = []
    for block in content or ():
        if block.type == "text" and block.text:
            found.append(Text(block.text))
        elif block.type == "thinking" and block.thinking:
            found.append(Thinking(block.thinking, "anthropic", block.signature or ""))
        elif block.type == "tool_use" and block.id:
            args = bytes(block.input).decode() or "{}"
            found.append(ToolCall(block.id, block.name or "", args))
    return found


def _text(content: str | list[Block] | None) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(filter(None, map(_shown, content or ())))


def _shown(block: Block) -> str:
    if block.text is not None:
        return block.text
    return f"[{block.type}]" if block.type in ("image", "document") else ""


def _usage(message: Message) -> Usage | None:
    told = message.usage
    if told is None:
        return None
    read, written = told.cache_read_input_tokens or 0, told.cache_creation_input_tokens or 0
    return Usage(
        input=(told.input_tokens or 0) + read + written,
        output=told.output_tokens or 0,
        cache_read=read,
        cache_write=written,
    )
