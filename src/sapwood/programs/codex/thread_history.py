"""The history of a Codex thread, folded from the rows of its files as Codex itself does it."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from sapwood.programs.codex import rows
from sapwood.programs.codex.contents import is_announcement, is_own_compaction, item_key
from sapwood.programs.codex.sessions import find_file, row_key
from sapwood.programs.transcripts.row_file import RowFile

_MAX_FILES = 10_000
_TYPE, _MESSAGE = b'{"type":"', b'{"type":"message"'


class HistoryItem(Struct, eq=False, gc=False):
    """An item of the model's API: its JSON, verbatim. `known_key` is its key, once it was asked."""

    payload: bytes
    known_key: bytes | None = None

    @property
    def key(self) -> bytes:
        """What the model sees of it."""
        if self.known_key is None:
            self.known_key = item_key(self.payload)
        return self.known_key

    def is_same(self, other: "HistoryItem") -> bool:
        """Whether the model cannot tell the two apart."""
        return self.payload == other.payload or self.key == other.key


class ThreadTurn(Struct):
    """A turn of a thread. `before` counts the items in front of it, in the list `epoch`.

    `client` is the id that a client gave to its prompt. `first` and `last` are the names of its
    rows; `tokens` is the input of its first request.
    """

    id: str
    epoch: int
    before: int
    path: Path
    first: int
    client: str = ""
    ending: str = ""
    last: int = 0
    tokens: int = 0
    prompt: int = 0


class ThreadHistory:
    """What the model sees of a thread.

    `epochs` are lists of items; a compaction begins a new one, and the last is what the model sees.
    `announcements` are the messages that Codex writes itself in front of them. `world` and
    `turn_context` are the payloads of the rows with which Codex remembers what it announced.
    """

    def __init__(self) -> None:
        self.epochs: list[list[HistoryItem]] = [[]]
        self.turns: list[ThreadTurn] = []
        self.announcements: list[bytes] = []
        self.world = b""
        self.turn_context = b""
        self.ordinal: int | None = None
        self.mode = ""
        self.version = ""
        self.folder = ""
        self._late = False
        self._asked = False
        self._item_rows: list[tuple[Path, int]] = []
        self._open: ThreadTurn | None = None

    @property
    def items(self) -> list[HistoryItem]:
        """What the model sees."""
        return self.epochs[-1]

    @property
    def announced(self) -> bool:
        """Whether all announcements are in front, with rows that tell Codex so."""
        return bool(self.announcements and self.world and self.turn_context) and not self._late

    def before(self, turn: ThreadTurn) -> list[HistoryItem]:
        """What the model saw before a turn."""
        return self.epochs[turn.epoch][: turn.before]

    def turn_of_client(self, client: str) -> ThreadTurn | None:
        """The turn whose prompt a client gave this id; None if there is none."""
        return next((turn for turn in reversed(self.turns) if turn.client == client), None)

    def last_rows(self, count: int) -> tuple[str, ...]:
        """The names of the last rows with items."""
        return tuple(row_key(*place) for place in self._item_rows[-count:]) if count else ()

    def take(self, row: "ParsedRow", path: Path) -> None:
        """Takes in one row."""
        payload = row.payload
        match row.type:
            case "session_meta":
                self.mode = payload.history_mode or "legacy"
                self.version = payload.cli_version or self.version
                self.folder = payload.cwd or self.folder
            case "response_item":
                self._item_rows.append((path, row.offset))
                self._add(row.items[0], payload, row.offset)
            case "compacted":
                self._compact(row)
            case "world_state":
                self.world = row.raw if payload.full else b""
                self._late = self._late or not payload.full
            case "turn_context":
                self.turn_context = row.raw
            case "token_usage_record" if self._open and payload.usage and not self._open.tokens:
                self._open.tokens = payload.usage.input_tokens or 0
            case "event_msg":
                self._event(payload, row.offset, path)
            case _:
                pass

    def _add(self, item: HistoryItem, payload: rows.Item, offset: int) -> None:
        if payload is _NOTHING:  # most items are calls and results
            self.items.append(item)
            return
        if is_announcement(payload, asked=self._asked):
            self._late = self._late or bool(self.world)
            self.announcements.append(item.payload)
            return
        if payload.is_users and not self._asked:
            self._asked = True
            if self._open is not None and not self._open.prompt:
                self._open.prompt = offset
        self.items.append(item)

    def _compact(self, row: "ParsedRow") -> None:
        self.epochs.append([])
        self.announcements, self.world, self._late, self._asked = [], b"", False, False
        for item in row.items:
            payload = _said(item.payload)
            if row.is_own:
                self._asked = False  # Codex announces itself in the middle of the user's messages
            if payload is not None:
                self._add(item, payload, 0)

    def _event(self, event: rows.Item, offset: int, path: Path) -> None:
        match event.type:
            case "task_started":
                turn_id = event.turn_id or ""
                place = (len(self.epochs) - 1, len(self.items))
                self._open = ThreadTurn(turn_id, *place, path=path, first=offset, last=offset)
                self.turns.append(self._open)
                self._asked = False
            case "task_complete" | "turn_aborted" if self._open is not None:
                if event.turn_id in (None, self._open.id):
                    self._open.ending, self._open.last = event.type, offset
                    self._open, self._asked = None, False
            case "item_completed" if event.item and event.item.type == "UserMessage":
                if self._open is not None and not self._open.client:
                    self._open.client = event.item.client_id or ""
            case "thread_rolled_back":
                self._roll_back(event.num_turns or 0)
            case _:
                pass

    def _roll_back(self, count: int) -> None:
        if not 0 < count <= len(self.turns):
            return
        turn = self.turns[-count]
        self.epochs.append(self.before(turn))
        del self.turns[-count:]
        self._asked = False


class ParsedRow(Struct, gc=False):
    """A row: its place, its payload, and the items in it. `raw` is kept of some types only.

    `is_own` is whether Codex itself compacted its history in this row.
    """

    offset: int
    type: str
    payload: rows.Item
    items: tuple[HistoryItem, ...] = ()
    raw: bytes = b""
    is_own: bool = False


class RolloutReader:
    """Reads the files of one thread, and reads on where it ended the last time."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._files: dict[Path, _ReadFile] = {}
        self._last: tuple[Path, int, ThreadHistory] | None = None

    def read(self, path: Path) -> ThreadHistory:
        """The history that continues in this file. Raises `OSError` if a file cannot be read.

        The same history grows when the same file is read again.
        """
        file = self._file(path)
        if file.read():
            self._last = None  # the file is another one
        if self._last is not None and self._last[0] == path:
            _, taken, history = self._last
        else:
            taken, history = 0, self._before(path)
        for row in file.rows[taken:]:
            history.take(row, path)
        history.ordinal = file.ordinal
        self._last = path, len(file.rows), history
        return history

    def _before(self, path: Path) -> ThreadHistory:
        """The history in front of a file."""
        history = ThreadHistory()
        for file, end in reversed(list(self._chain(path))[1:]):
            for row in self._file(file).rows:
                if end is not None and row.offset >= end:
                    break
                history.take(row, file)
        return history

    def _file(self, path: Path) -> "_ReadFile":
        return self._files.setdefault(path, _ReadFile(path))

    def _chain(self, path: Path) -> Iterator[tuple[Path, int | None]]:
        """The files from the last to the first, each with the number of bytes that count."""
        end: int | None = None
        for _ in range(_MAX_FILES):
            yield path, end
            base = self._base(path)
            if base is None or not base.thread_id:
                return
            found = find_file(self._home, base.thread_id, path)
            if found is None:
                raise FileNotFoundError(f"the file of {base.thread_id} is missing")
            path, end = found, base.end_byte_offset
        raise OSError("the files of the thread refer to each other")

    def _base(self, path: Path) -> rows.HistoryBase | None:
        file = self._file(path)
        file.read()
        return file.rows[0].payload.history_base if file.rows else None


class _ReadFile:
    """The rows of one file that have been read."""

    def __init__(self, path: Path) -> None:
        self.rows: list[ParsedRow] = []
        self._file = RowFile(path)
        self._last_row = b""

    @property
    def ordinal(self) -> int | None:
        """The number of the last row; None in files without numbers."""
        return rows.ordinal_of(self._last_row)

    def read(self) -> bool:
        """Reads what is new. Returns whether the file is another one than before."""
        replaced = False
        for data, offset in self._file.read():
            if self._file.replaced:
                replaced, self._file.replaced = True, False
                self.rows.clear()
            self._last_row = data
            if not rows.is_noise(data) and (row := rows.decode_raw_row(data)) is not None:
                self.rows.append(_parsed(row, offset))
        return replaced


_NOTHING = rows.Item()


def _said(item: bytes) -> rows.Item | None:
    """An item, if it is a message. Calls and results may be long, so they are not looked into."""
    is_other = item.startswith(_TYPE) and not item.startswith(_MESSAGE)
    return _NOTHING if is_other else rows.decode_item(item)


def _parsed(row: rows.RawRow, offset: int) -> ParsedRow:
    raw, items, is_own = b"", (), False
    if row.type == "response_item":
        item = HistoryItem(bytes(row.payload))
        return ParsedRow(offset, row.type, _said(item.payload) or _NOTHING, (item,))
    payload = rows.decode_item(row.payload) or _NOTHING
    match row.type:
        case "compacted":
            is_own = is_own_compaction(payload)
            items = tuple(HistoryItem(bytes(each)) for each in payload.replacement_history or ())
            payload.replacement_history = None
        case "world_state" | "turn_context":
            raw = bytes(row.payload)
        case _:
            pass
    return ParsedRow(offset, row.type, payload, items, raw, is_own)
