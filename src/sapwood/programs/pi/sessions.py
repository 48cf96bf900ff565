"""The transcripts of pi: `sessions/--FOLDER--/TIME_SESSION.jsonl` in its home."""

import re
from collections.abc import Iterable
from pathlib import Path

from sapwood.programs.pi.program import PROGRAM
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.session_files import FoundSession, SessionFiles
from sapwood.programs.transcripts.transcript_events import Mask

_ROW = re.compile(
    rb'\{"type":"session","(?:version|id)":|"parentId":(?:null|"[^"]*"),"timestamp":"'
)
_NAME = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(.+)")
_SEPARATORS = re.compile(r"[/\\:]")


def folder_name(folder: str) -> str:
    """The name of the folder in which pi keeps the sessions of a project.

    >>> folder_name("/srv/wood")
    '--srv-wood--'
    """
    return f"--{_SEPARATORS.sub('-', folder.removeprefix('/'))}--"


class _Sessions(SessionFiles):
    def wrote(self, head: bytes) -> bool:
        return _ROW.search(head) is not None

    def reader(self, path: Path, mask: Mask) -> TranscriptReader:
        from sapwood.programs.pi.reader import PiReader

        return PiReader(mask)

    def files(self, home: Path, folder: Path | None) -> Iterable[Path]:
        place = home / "sessions"
        if folder is None:
            return place.glob("*/*.jsonl")
        return (place / folder_name(str(folder))).glob("*.jsonl")

    def session_in(self, path: Path) -> str:
        return self.id_in_name(path) or path.stem

    def id_in_name(self, path: Path) -> str:
        found = _NAME.fullmatch(path.stem)
        return found[1] if found else ""

    def may_have_run_in(self, found: FoundSession, folder: Path) -> bool:
        return True  # `files` lists only those in the program's folder for it


SESSIONS = _Sessions(PROGRAM)
