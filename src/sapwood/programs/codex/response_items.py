"""Items of the model's API: made from the neutral form, or read from the rows of a turn.

Summaries that Codex wrote itself are found by their text, and their items are used again.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from sapwood.core.content import File, PromptPart, Text, Thinking, ToolCall
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.view.frames import REQUEST_FRAME
from sapwood.core.view.request import Message, ToolResult
from sapwood.programs.agent_provider import History
from sapwood.programs.codex.contents import is_announcement, is_own_compaction, is_waiting, text_of
from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.codex.reader import CodexReader
from sapwood.programs.codex.rows import Item, decode_item, decode_raw_row, decode_row
from sapwood.programs.codex.sessions import find_file, is_id, segment_of, split_key, thread_files
from sapwood.programs.codex.thread_history import HistoryItem
from sapwood.programs.prompt_parts import PICTURES, prompt_text, shows
from sapwood.programs.transcripts.transcript_events import TranscriptCompaction, unmasked
from sapwood.programs.transcripts.turn_builder import continues_a_turn

_HEAD = 400
_COMPACTED = re.compile(rb'"type":\s?"compacted"')


class ProgramSummary(Struct, frozen=True):
    """The items of a compaction, and the other texts before and behind them."""

    items: tuple[bytes, ...]
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


class _Compaction(Struct, frozen=True, order=True):
    """When Codex compacted, what Sapwood shows of it, and its row."""

    at: int
    shown: str
    row: bytes


def find_program_summary(
    front: Sequence[str], home: Path, threads: Iterable[str], copies: Path | None = None
) -> ProgramSummary | None:
    """The newest compaction of these threads that the texts in front show; None if none is.

    The carried request is left out: Codex itself keeps the messages of the user.
    """
    if not front:
        return None
    found = {each for path in _files(home, threads, copies) for each in _compactions(path)}
    for each in sorted(found, reverse=True):
        for place, text in enumerate(front):
            if shows(text, each.shown):
                behind = [text for text in front[place + 1 :] if not text.startswith(REQUEST_FRAME)]
                return ProgramSummary(own_items(each.row), tuple(front[:place]), tuple(behind))
    return None


def _files(home: Path, threads: Iterable[str], copies: Path | None) -> Iterator[Path]:
    """The files of the threads, of those that they were forked from, and the private copies."""
    waiting = [path for thread in threads for path in thread_files(home, thread, copies)]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        yield path
        base = find_file(home, _base_of(path), path)
        waiting += [base] if base is not None else []


def _base_of(path: Path) -> str:
    """The thread or segment that a file continues from; empty if there is none."""
    try:
        with path.open("rb") as file:
            row = decode_row(file.readline())
    except OSError:
        return ""
    base = row.payload.history_base if row and row.payload else None
    return (base.thread_id if base else None) or ""


def _compactions(path: Path) -> Iterator[_Compaction]:
    """Codex's own compactions in a file."""
    try:
        with path.open("rb") as file:
            rows = [line for line in file if _COMPACTED.search(line[:_HEAD])]
    except OSError:
        return
    for line in rows:
        if not own_items(line):
            continue
        reader = CodexReader(mask=unmasked)
        reader.feed(line, 0)
        for event in reader.events:
            if isinstance(event, TranscriptCompaction):
                yield _Compaction(event.ref.at, event.boundary.text, line)


def own_items(line: bytes) -> tuple[bytes, ...]:
    """The items that Codex kept when it compacted; none if this is a row of Sapwood."""
    row = decode_row(line)
    payload = row.payload if row else None
    if payload is None or not is_own_compaction(payload):
        return ()
    found = ((bytes(item), decode_item(item)) for item in payload.replacement_history or ())
    return tuple(item for item, read in found if read and not is_announcement(read, asked=False))


_MAX_ID = 64
_MAX_BYTES_BEFORE = 4 * 1024 * 1024
"""How far before a prompt its waiting items are searched."""
_FIRST_BYTES_BEFORE = 16 * 1024
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


class WantedItems:
    """The items that a thread must have, and what could not be carried."""

    def __init__(self) -> None:
        self.items: list[HistoryItem] = []
        self.losses: list[str] = []

    @property
    def loss(self) -> str:
        """What could not be carried, in one sentence each; empty if everything was."""
        return " ".join(self.losses)


def wanted_history(
    history: History, home: Path, copies: Path | None = None, thread: str = ""
) -> WantedItems:
    """The items of a history: Codex's own rows verbatim, everything else from the neutral form.

    `copies` is the folder of private copies, for rows that Codex does not have any more. `thread`
    is the thread that gets the history, if there is one.
    """
    wanted = WantedItems()
    wanted.items += _front_items(history, home, copies, thread)
    in_front = {item.payload for item in wanted.items}
    files: dict[tuple[ProgramSession, str], Path | None] = {}
    rewritten = thoughts = 0
    for turn in history.turns:
        native = turn.native
        if native is not None and native.session.program != PROGRAM.name:
            native = None
        # A turn that Codex compacted in the middle continues after the items before it.
        continues = bool(wanted.items) and continues_a_turn(turn.turn.prompt)
        items = (
            items_of_rows(native, home, copies, continues=continues, files=files)
            if native is not None
            else None
        )
        if items is None:
            rewritten += native is not None
            parts = [part for message in turn.messages for part in message.parts]
            thoughts += sum(isinstance(part, Thinking) for part in parts)
            items = items_of_messages(turn.messages)
        # A summary in front that Codex wrote before the first prompt is a part of its turn too.
        wanted.items.extend(HistoryItem(item) for item in items if item not in in_front)
    if rewritten:
        wanted.losses.append(
            f"Codex's own rows of {rewritten} turn(s) were not found or have changed, so these "
            "turns were written from Sapwood's log, without the model's encrypted reasoning."
        )
    if thoughts:
        wanted.losses.append(f"{thoughts} reasoning block(s) from another model were left out.")
    return wanted


def _front_items(
    history: History, home: Path, copies: Path | None, thread: str
) -> list[HistoryItem]:
    """What comes before the turns: Codex's own compaction verbatim, other texts as a message."""
    natives = [turn.native for turn in history.turns if turn.native is not None]
    sessions = [each.session for each in natives]
    threads = [thread, *(each.id for each in sessions if each.program == PROGRAM.name)]
    own = find_program_summary(history.front, home, dict.fromkeys(threads), copies)
    if own is None:
        return [user_item(*history.front)] if history.front else []
    items = [HistoryItem(item) for item in own.items]
    before = [user_item(*own.before)] if own.before else []
    return [*before, *items, *([user_item(*own.behind)] if own.behind else [])]


def user_item(*texts: str) -> HistoryItem:
    """A message of the user."""
    content = [{"type": "input_text", "text": text} for text in texts]
    return HistoryItem(msgspec.json.encode({"type": "message", "role": "user", "content": content}))


def items_of_messages(messages: tuple[Message, ...]) -> list[bytes]:
    """The messages of a turn as items; thoughts are left out.

    >>> items_of_messages((Message("user", (Text("Is it cold?"),)),))
    [b'{"type":"message","role":"user","content":[{"type":"input_text","text":"Is it cold?"}]}']
    """
    return [msgspec.json.encode(item) for each in messages for item in _items(each)]


def _items(message: Message) -> Iterator[dict[str, object]]:
    """Results come before the text of the same message, because they answer the calls before."""
    kind = "input_text" if message.role == "user" else "output_text"
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield {
                "type": "function_call_output",
                "call_id": _call_id(part.call),
                "output": part.content,
            }
    content = [
        block
        for part in message.parts
        if isinstance(part, Text | File)
        for block in _content(part, kind)
    ]
    if content:
        yield {"type": "message", "role": message.role, "content": content}
    for part in message.parts:
        if isinstance(part, ToolCall):
            yield {
                "type": "function_call",
                "name": _NOT_IN_NAMES.sub("_", part.name)[:_MAX_ID] or "unknown",
                "arguments": part.args,
                "call_id": _call_id(part.id),
            }


def _content(part: Text | File, kind: str) -> Iterator[dict[str, object]]:
    yield {"type": kind, "text": prompt_text(part)}
    if kind == "input_text" and (url := picture_url(part)):
        yield {"type": "input_image", "image_url": url}


def picture_url(part: PromptPart) -> str:
    """The data URL of a picture; '' for every other part."""
    if not isinstance(part, File) or part.media_type not in PICTURES:
        return ""
    return part.data_url


def _call_id(call: str) -> str:
    """The API takes ids of at most 64 characters."""
    return call if len(call) <= _MAX_ID else hashlib.sha256(call.encode()).hexdigest()


def items_of_rows(
    native: NativeRows,
    home: Path,
    copies: Path | None = None,
    *,
    continues: bool = False,
    files: dict[tuple[ProgramSession, str], Path | None] | None = None,
) -> list[bytes] | None:
    """The items in the rows of a turn, verbatim; None if the rows are missing or have changed.

    They must begin with a prompt, unless the turn `continues` one that was cut in two. `files` are
    the files that were found for earlier turns, by session and segment.
    """
    first, last = split_key(native.passage.first), split_key(native.passage.last)
    if first is None or last is None or first[0] != last[0] or first[1] > last[1]:
        return None
    known, key = {} if files is None else files, (native.session, first[0])
    if key not in known:
        known[key] = _file_of(native, first[0], home)
    path = known[key]
    places = [path] if path is not None else []
    if copies is not None and native.hash:
        places += _copies_of(native, first[0], copies)
    for place in places:
        data = _rows(place, first[1], last[1], native.hash)
        items = _items_in(data, continues) if data is not None else None
        if items is not None:
            return items if continues else [*_waiting_before(place, first[1]), *items]
    return None


def _waiting_before(path: Path, first: int) -> list[bytes]:
    """The items that waited for the prompt at this place: they belong to its turn."""
    try:
        with path.open("rb") as file:
            return _waiting_in(_lines_before(file, first))
    except OSError:
        return []


def _waiting_in(lines: Iterable[bytes]) -> list[bytes]:
    """The items at the end of these lines that no turn has yet. The last line comes first."""
    found: list[bytes] = []
    for line in lines:
        row = decode_raw_row(line)
        if row is None or row.type != "response_item":
            if row is not None and row.type == "compacted":
                return [*_summary_of_nothing(line), *found]
            continue
        payload = decode_item(row.payload)
        if is_waiting(payload):
            found.insert(0, bytes(row.payload))
        elif payload is not None and not is_announcement(payload, asked=False):
            break
    return found


def _lines_before(file: BinaryIO, end: int) -> Iterator[bytes]:
    """The lines before a place, the last one first: most often only a few of them are needed."""
    stop, size, rest = max(0, end - _MAX_BYTES_BEFORE), _FIRST_BYTES_BEFORE, b""
    while end > stop:
        start = max(stop, end - size)
        file.seek(start)
        rest, *lines = (file.read(end - start) + rest).split(b"\n")
        yield from filter(None, reversed(lines))
        end, size = start, size * 2
    if not stop and rest:
        yield rest


def _summary_of_nothing(compacted: bytes) -> tuple[bytes, ...]:
    """The summary that Codex wrote before the first prompt: it belongs to the first turn.

    A compaction after a prompt has messages of the user too, and is no part of a turn.
    """
    items = own_items(compacted)
    return items if len(items) == 1 else ()


def _rows(path: Path, first: int, last: int, digest: str) -> bytes | None:
    """The bytes of the rows from one place to another; None if they are not these rows."""
    try:
        with path.open("rb") as file:
            file.seek(first)
            data = file.read(last - first)
            data += file.readline()
    except OSError:
        return None
    is_same = not digest or hashlib.sha256(data).hexdigest() == digest
    return data if is_same and data.endswith(b"\n") else None


def _copies_of(native: NativeRows, segment: str, copies: Path) -> list[Path]:
    """The private copies of the file that the rows were in."""
    name = f"{native.session.id}_{segment}" if segment else native.session.id
    return sorted(copies.glob(f"rollout-*-{name}*.jsonl")) if is_id(native.session.id) else []


def _file_of(native: NativeRows, segment: str, home: Path) -> Path | None:
    path = Path(native.session.path) if native.session.path else None
    if path is not None and segment_of(path) == segment and path.is_file():
        return path
    return find_file(home, segment or native.session.id, path)


def _items_in(data: bytes, continues: bool) -> list[bytes] | None:
    """The items in these rows; None if they need a prompt at the beginning and have none."""
    items: list[bytes] = []
    asked = False
    for line in data.splitlines(keepends=True):
        row = decode_raw_row(line)
        payload = decode_item(row.payload) if row is not None else None
        if row is None or payload is None:
            continue
        if row.type == "compacted" and items and _is_summary(items[-1], payload):
            items.pop()  # the reply to Codex's own request for a summary
        elif row.type == "response_item" and not is_announcement(payload, asked=asked):
            asked = asked or payload.is_users
            items.append(bytes(row.payload))
    return items if asked or (continues and items) else None


def _is_summary(item: bytes, compacted: Item) -> bool:
    """Whether a message is the summary of the compaction that follows it."""
    read = decode_item(item)
    text = text_of(read.content) if read is not None and read.role == "assistant" else ""
    return bool(text) and (compacted.message or "").endswith(text)
