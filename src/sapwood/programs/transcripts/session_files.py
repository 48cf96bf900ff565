"""Where a program keeps its sessions, how its files are recognized, and who reads them.

Each program extends `SessionFiles` in its module `sessions`. Nothing here changes a file.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

from msgspec import Struct, structs

from sapwood.programs.program import Program
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.row_file import RowFile
from sapwood.programs.transcripts.transcript_events import Mask

HEAD = 64 * 1024
"""Bytes at the start of a file that usually show which program wrote it."""

_FIRST_BYTES = 16 * 1024
_CWD = re.compile(rb'"cwd":\s?("(?:[^"\\]|\\.)*")')


class FoundSession(Struct, frozen=True):
    """A transcript. `folder` is where the session ran; `updated` is in microseconds since 1970.

    The path is that of a file, or that of a database and the session's id in it.
    """

    source: str
    id: str
    path: Path
    folder: str
    updated: int
    size: int


class SessionFiles(ABC):
    """The transcripts of one program.

    `has_several_files`: a session may continue in another file, and only the newest is listed.
    `in_database`: the sessions are in a database, so their paths are not those of files, and a
    session is always read from its first row.
    """

    has_several_files = False
    in_database = False

    def __init__(self, program: Program) -> None:
        self._source = program.name

    @abstractmethod
    def wrote(self, head: bytes) -> bool:
        """Whether the program may have written a file with this beginning."""

    @abstractmethod
    def reader(self, path: Path, mask: Mask) -> TranscriptReader:
        """Makes a reader for a transcript. `mask` masks the secrets in tool results."""

    @abstractmethod
    def files(self, home: Path, folder: Path | None) -> Iterable[Path]:
        """The transcripts without those of subagents: all, or those that may be of a folder."""

    def find(self, home: Path, folder: Path | None = None) -> Iterator[FoundSession]:
        """The sessions by file name and time; their folders are not known yet."""
        return self.listed(self.files(home, folder))

    def listed(self, paths: Iterable[Path]) -> Iterator[FoundSession]:
        """These files without empty ones."""
        for path in paths:
            with suppress(OSError):
                status = path.stat()
                if S_ISREG(status.st_mode) and status.st_size:
                    updated = status.st_mtime_ns // 1000
                    yield FoundSession(
                        self._source, self.session_in(path), path, "", updated, status.st_size
                    )

    def session_in(self, path: Path) -> str:
        """The id of the session, as far as the name of its file shows it."""
        return path.stem

    def id_in_name(self, path: Path) -> str:
        """The id by which the program resumes a session, if its file is named so; else empty."""
        return ""

    def opened(self, found: FoundSession) -> FoundSession:
        """The session with the folder from its first rows. Raises `OSError`."""
        with found.path.open("rb") as file:
            head = file.read(_FIRST_BYTES)
            if not (cwd := _CWD.search(head)):
                cwd = _CWD.search(head + file.read(HEAD - _FIRST_BYTES))
        return structs.replace(found, folder=decoded_string(cwd))

    def may_have_run_in(self, found: FoundSession, folder: Path) -> bool:
        """Whether a session whose rows name no folder belongs to this one."""
        return False

    def subagents(self, found: FoundSession) -> Iterable[Path]:
        """The transcripts of a session's subagents."""
        return ()

    def subagents_in(self, folder: Path) -> Iterable[Path]:
        """The transcripts of subagents that lie among the sessions of a folder."""
        return ()

    def parts_of(self, path: Path) -> list[tuple[str, Path]]:
        """The files of a session in the order in which they were begun, with their names there."""
        return [("", path)]

    def has(self, path: Path) -> bool:
        """Whether this names a session in a database of the program."""
        return False

    def rows(self, path: Path) -> Iterator[tuple[str, bytes, int]]:
        """All rows of a session, each with the name of its file there and its place.

        Raises `OSError`.
        """
        for name, file in self.parts_of(path):
            for row, offset in RowFile(file).read(rest=True):
                yield name, row, offset

    def updated(self, path: Path) -> int:
        """When the session was changed last, in microseconds since 1970. Raises `OSError`."""
        return path.stat().st_mtime_ns // 1000

    def size(self, path: Path) -> int:
        """The bytes of the session. Raises `OSError`."""
        return path.stat().st_size


def decoded_string(found: "re.Match[bytes] | None") -> str:
    """The JSON string that a pattern found; empty if it found none."""
    if found is None:
        return ""
    try:
        return str(json.loads(found[1].decode("utf-8", "replace")))
    except ValueError:
        return ""
