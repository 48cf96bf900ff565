"""Changes a Claude Code session at rest: appends rows after which its history is the wanted one.

The order of steps makes it safe: a lock of ours, no process with the session open, the transcript
read, the rows planned and checked, a private copy made, the transcript compared with what was read,
and then one append. Nothing is ever removed or rewritten.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.core.program_session import ProgramSession
from sapwood.private_files import create_file, locked
from sapwood.programs.agent_provider import History, SessionBusy, SyncResult
from sapwood.programs.claude_code.history_rows import (
    HistoryRows,
    require_known,
    rows_for_history,
)
from sapwood.programs.claude_code.loaded_history import front_texts, gives, session_difference
from sapwood.programs.claude_code.row_forms import (
    NewRow,
    RowContext,
    boundary_row,
    closing_rows,
    front_row,
    history_end,
)
from sapwood.programs.claude_code.rows import decode_row
from sapwood.programs.claude_code.transcript import (
    Transcript,
    file_size,
    read_on,
    read_transcript,
)
from sapwood.programs.session_copy import append_lines, copies_of, extend_copy

_PROGRAM = b"claude"


class OpenSession(Struct, frozen=True):
    """A process that has the session open, and whether it works on a turn now."""

    process: int
    is_busy: bool = False


class _Listed(Struct, rename="camel"):
    pid: int = 0
    session_id: str = ""
    proc_start: str = ""
    status: str = ""


def open_session(
    session: str, home: Path, transcript: Path, own: frozenset[int] = frozenset()
) -> OpenSession | None:
    """The process that has the session open; None if there is none.

    `home` is the home of Claude Code. `own` are processes that do not count.
    """
    for listed in _listed(home):
        if listed.session_id == session and listed.pid not in own and _is_alive(listed):
            return OpenSession(listed.pid, listed.status == "busy")
    return _found_in_proc(session, transcript, own) if sys.platform == "linux" else None


def _listed(home: Path) -> list[_Listed]:
    found: list[_Listed] = []
    for path in home.glob("sessions/*.json"):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=_Listed))
        except (OSError, msgspec.MsgspecError, ValueError):
            continue  # it is written just now, or has another form
    return found


def _is_alive(listed: _Listed) -> bool:
    """Whether the listed process still runs; a number that was given again is another process."""
    if sys.platform == "linux":
        started = _start_time(listed.pid)
        return bool(started) and (not listed.proc_start or listed.proc_start == started)
    try:
        os.kill(listed.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _start_time(pid: int) -> str:
    """When a process started, in ticks since the system did; empty if it ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    fields = status.rpartition(")")[2].split()  # the name before it may contain anything
    return "" if fields[0] in ("Z", "X") else fields[19]


def _found_in_proc(session: str, transcript: Path, own: frozenset[int]) -> OpenSession | None:
    wanted, target = session.encode(), os.path.realpath(transcript)
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in own or int(name) == os.getpid():
            continue
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        arguments = command.split(b"\0")
        if not any(_PROGRAM in os.path.basename(each) for each in arguments[:2]):
            continue
        if wanted in arguments or _has_open(name, target):
            return OpenSession(int(name))
    return None


def _has_open(process: str, target: str) -> bool:
    folder = f"/proc/{process}/fd"
    try:
        return any(_link(f"{folder}/{each}") == target for each in os.listdir(folder))
    except OSError:
        return False  # it ended, or belongs to another user


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


_MAX_ROWS_OF_AN_END = 200
"""More rows than one message has calls and results."""


class _Plan(Struct, frozen=True):
    """The lines to append, their ids, and what could not be carried."""

    lines: bytes
    rows: tuple[str, ...]
    loss: str = ""


class SessionFile:
    """The transcript of one session.

    `home` is the home of Claude Code, `copies` the folder of private copies, `folder` the folder
    of the project, and `version` that of the program that will open the session.
    """

    def __init__(
        self,
        session: ProgramSession,
        *,
        home: Path,
        copies: Path,
        folder: str,
        version: str,
        own: frozenset[int] = frozenset(),
    ) -> None:
        self.session = session
        self.path = Path(session.path)
        self._home = home
        self._copy = copies / f"{session.id}.jsonl"
        self.context = RowContext(session.id, folder, version)
        self._own = own
        self._others: dict[Path, Transcript] = {}

    def require_at_rest(self) -> None:
        """Raises `SessionBusy` if a process has the session open."""
        found = open_session(self.session.id, self._home, self.path, self._own)
        if found is not None:
            what = "is working in this session" if found.is_busy else "has this session open"
            raise SessionBusy(
                f"Claude Code {what} (process {found.process}). Close it there with /exit, then "
                "try again."
            )

    def sync_session(self, history: History, read: Transcript | None = None) -> SyncResult:
        """Appends what makes the session contain exactly this history.

        `read` is the transcript, if it was read already. It is read again if it has changed.
        Raises `SessionBusy` if a process has it open or has just changed it, and `OSError`.
        """
        with locked(self._copy):
            self.require_at_rest()
            is_current = read is not None and read.size == file_size(self.path)
            transcript = read if read and is_current else read_transcript(self.path)
            wanted = rows_for_history(history, transcript, self.context, self.open_other)
            if not wanted.new and gives(transcript, wanted):
                return SyncResult(self.session, "nothing", loss=wanted.loss)
            plan = self._plan(transcript, wanted)
            self._append(transcript, plan.lines)
            difference = session_difference(_read_again(transcript), wanted, history)
        return SyncResult(self.session, "boundary", plan.rows, plan.loss, difference)

    def cut_before(self, uuid: str) -> tuple[str, ...]:
        """Takes a prompt and everything after it out of the history. Returns the new rows.

        Returns nothing if the prompt is not in the history. Raises as `sync_session` does.
        """
        with locked(self._copy):
            self.require_at_rest()
            transcript = read_transcript(self.path)
            loaded = transcript.loaded() or []
            place = next((n for n, row in enumerate(loaded) if row.uuid == uuid), None)
            if place is None:
                return ()
            rows = transcript.with_parallel_results(loaded[:place])
            kept = tuple(row.uuid for row in rows if row.is_message and row.uuid)
            front = front_texts(transcript, rows)
            plan = self._plan(transcript, HistoryRows((kept,), front=front))
            self._append(transcript, plan.lines)
        return plan.rows

    def close_open_turn(self) -> tuple[str, ...]:
        """Closes a last turn without an answer, before the program opens the session again.

        Returns the new rows. Raises as `sync_session` does.
        """
        with locked(self._copy):
            self.require_at_rest()
            transcript = read_transcript(self.path)
            loaded = transcript.loaded() or []
            spoken = [row.uuid or "" for row in loaded if row.type in ("user", "assistant")]
            if not spoken or loaded[-1].closes_turn:
                return ()
            rows = self._closing(transcript, (), spoken)
            if rows:
                self._append(transcript, _chained(rows, loaded[-1].uuid))
        return tuple(row.uuid for row in rows)

    def write_new(self, history: History) -> SyncResult:
        """Writes a new session with this history; a session without any turn has no file yet.

        Raises `OSError`.
        """
        empty = Transcript(self.path)
        wanted = rows_for_history(history, empty, self.context, self.open_other)
        rows = list(wanted.new)
        if history.front:
            rows.insert(0, front_row(self.context, history.front))
        if rows:
            rows += self._closing(empty, rows, wanted.uuids)
            create_file(self.path, _chained(rows))
        return SyncResult(
            self.session, "new_session", tuple(row.uuid for row in rows), loss=wanted.loss
        )

    def open_other(self, session: ProgramSession) -> Iterator[Transcript]:
        """The transcript of a session, and its private copies: a restored one lacks old rows."""
        places = [Path(session.path)] if session.path else []
        if session.id and session.id.replace("-", "").isalnum():
            places += copies_of(self._copy.with_name(f"{session.id}.jsonl"))
        for path in places:
            if path not in self._others:
                with suppress(OSError):
                    self._others[path] = read_transcript(path)
            if path in self._others:
                yield self._others[path]

    def _plan(self, transcript: Transcript, wanted: HistoryRows) -> _Plan:
        new, kept, front = list(wanted.new), wanted.uuids, wanted.front
        if front or kept:
            closing = self._closing(transcript, new, kept)
            new += closing
            kept += [row.uuid for row in closing]
        require_known(kept, transcript, new)
        if front:
            texts = front_row(self.context, front)
            boundary = boundary_row(self.context, kept, texts.uuid)
            after = [boundary.encoded(None), texts.encoded(boundary.uuid)]
            ids = (boundary.uuid, texts.uuid)
        else:
            boundary = boundary_row(self.context, kept)
            after = [boundary.encoded(None)]
            ids = (boundary.uuid,)
        lines = _chained(new) + b"".join(after)
        return _Plan(lines, (*[row.uuid for row in new], *ids), wanted.loss)

    def _closing(
        self, transcript: Transcript, new: Sequence[NewRow], kept: Sequence[str]
    ) -> list[NewRow]:
        """The rows to add if the history does not end with an answer of the model."""
        made = {row.uuid: row.encoded(None) for row in new}
        rows: list[bytes] = []
        for own in reversed(kept):
            found = transcript.row(own)
            rows.append(made[own] if own in made else transcript.bytes_of(found) if found else b"")
            if len(rows) == _MAX_ROWS_OF_AN_END:
                break
        return closing_rows(self.context, history_end(rows))

    def _append(self, transcript: Transcript, lines: bytes) -> None:
        """Appends lines after everything was checked once more."""
        copy = extend_copy(self.path, self._copy)
        if copy.stat().st_size != transcript.size:
            raise self._changed()
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND)
        try:
            self.require_at_rest()
            if os.fstat(handle).st_size != transcript.size or not _ends_with(handle, transcript):
                raise self._changed()
            append_lines(
                handle, lines if transcript.has_whole_lines else b"\n" + lines, transcript.size
            )
        finally:
            os.close(handle)

    def _changed(self) -> SessionBusy:
        return SessionBusy(
            f"Claude Code session {self.session.id} has just changed. Nothing was written; try "
            "again."
        )


def _read_again(transcript: Transcript) -> Transcript:
    """The transcript with what was appended to it."""
    if not transcript.has_whole_lines:
        return read_transcript(transcript.path)
    read_on(transcript)
    return transcript


def _chained(rows: Sequence[NewRow], first: str | None = None) -> bytes:
    parents = [first, *[row.uuid for row in rows]]
    return b"".join(row.encoded(parent) for row, parent in zip(rows, parents, strict=False))


def _ends_with(handle: int, transcript: Transcript) -> bool:
    """Whether the last row with an id is still where it was read."""
    if not transcript.rows:
        return True
    row = transcript.rows[-1]
    found = decode_row(os.pread(handle, row.end - row.start, row.start))
    return found is not None and found.uuid == row.uuid
