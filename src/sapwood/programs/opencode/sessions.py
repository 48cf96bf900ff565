"""The sessions of opencode. The path of one is that of the database, followed by its id."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from sapwood.programs.opencode.program import PROGRAM
from sapwood.programs.opencode.session_database import NAME, StoredSession, events_of, sessions_in
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.session_files import FoundSession, SessionFiles
from sapwood.programs.transcripts.transcript_events import Mask

_ID = re.compile(PROGRAM.transcript_names)


class _Sessions(SessionFiles):
    in_database = True

    def wrote(self, head: bytes) -> bool:
        return False

    def has(self, path: Path) -> bool:
        return _ID.fullmatch(path.name) is not None and path.parent.name == NAME

    def reader(self, path: Path, mask: Mask) -> TranscriptReader:
        from sapwood.programs.opencode.reader import OpencodeReader

        return OpencodeReader(mask=mask)

    def files(self, home: Path, folder: Path | None) -> Iterable[Path]:
        return (found.path for found in self.find(home, folder))

    def find(self, home: Path, folder: Path | None = None) -> Iterator[FoundSession]:
        where = "WHERE parent_id IS NULL"
        with suppress(OSError):
            base = home / NAME
            if folder is None:
                found = sessions_in(base, where)
            else:
                found = sessions_in(base, f"{where} AND directory = ?", str(folder))
            yield from (_found(base, each) for each in found)

    def listed(self, paths: Iterable[Path]) -> Iterator[FoundSession]:
        for path in paths:
            with suppress(OSError):
                yield _found(path.parent, stored_session(path))

    def opened(self, found: FoundSession) -> FoundSession:
        return found

    def id_in_name(self, path: Path) -> str:
        return path.name

    def subagents(self, found: FoundSession) -> Iterable[Path]:
        base = found.path.parent
        with suppress(OSError):
            yield from (
                base / each.id for each in sessions_in(base, "WHERE parent_id = ?", found.id)
            )

    def rows(self, path: Path) -> Iterator[tuple[str, bytes, int]]:
        stored_session(path)
        for event in events_of(path.parent, path.name):
            yield "", event.row, event.seq

    def updated(self, path: Path) -> int:
        return stored_session(path).updated

    def size(self, path: Path) -> int:
        return stored_session(path).size


def stored_session(path: Path) -> StoredSession:
    """The session that a path names. Raises `OSError` if there is none."""
    found = sessions_in(path.parent, "WHERE id = ?", path.name)
    if not found:
        raise FileNotFoundError(2, "there is no such session", str(path))
    return found[0]


def session_path(home: Path, session: str) -> Path:
    """The path that names a session of this home."""
    return home / NAME / session


def _found(base: Path, each: StoredSession) -> FoundSession:
    path = base / each.id
    return FoundSession(PROGRAM.name, each.id, path, each.folder, each.updated, each.size)


SESSIONS = _Sessions(PROGRAM)
