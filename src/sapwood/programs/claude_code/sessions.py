"""The transcripts of Claude Code: `projects/FOLDER/SESSION.jsonl` in its home."""

import re
from collections.abc import Iterable
from pathlib import Path

from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.session_files import FoundSession, SessionFiles
from sapwood.programs.transcripts.transcript_events import Mask

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{17}")
_ROW = re.compile(rb'"(?:parentUuid|sessionId|leafUuid|isSidechain)":')
_SLUG = re.compile(r"[^A-Za-z0-9]")
_MAX_SLUG = 200
_SUBAGENT = "agent-"


class _Sessions(SessionFiles):
    def wrote(self, head: bytes) -> bool:
        return _ROW.search(head) is not None

    def reader(self, path: Path, mask: Mask) -> TranscriptReader:
        from sapwood.programs.claude_code.reader import ClaudeReader

        return ClaudeReader(subagent=path.name.startswith(_SUBAGENT), mask=mask)

    def files(self, home: Path, folder: Path | None) -> Iterable[Path]:
        slug = "*" if folder is None else _SLUG.sub("-", str(folder))[:_MAX_SLUG]
        more = "*" if len(slug) == _MAX_SLUG else ""
        found = home.glob(f"projects/{slug}{more}/*.jsonl")
        return (path for path in found if not path.name.startswith(_SUBAGENT))

    def session_in(self, path: Path) -> str:
        return path.stem.removeprefix(_SUBAGENT)

    def id_in_name(self, path: Path) -> str:
        name = self.session_in(path)
        return name if _ID.fullmatch(name) else ""

    def may_have_run_in(self, found: FoundSession, folder: Path) -> bool:
        return True  # `files` lists only those in the program's folder for it

    def subagents(self, found: FoundSession) -> Iterable[Path]:
        return found.path.with_suffix("").glob(f"subagents/{_SUBAGENT}*.jsonl")

    def subagents_in(self, folder: Path) -> Iterable[Path]:
        """Where older versions stored them."""
        return folder.glob(f"{_SUBAGENT}*.jsonl")


SESSIONS = _Sessions(PROGRAM)
