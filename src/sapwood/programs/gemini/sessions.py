"""The transcripts of Gemini CLI: `tmp/PROJECT/chats/session-….jsonl` in its home.

The program names a project's folder by a hash, and writes the project's path into a file there.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path

from msgspec import structs

from sapwood.programs.gemini.program import PROGRAM
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.session_files import FoundSession, SessionFiles, decoded_string
from sapwood.programs.transcripts.transcript_events import Mask

_FIRST_BYTES = 16 * 1024
_HEADER = re.compile(rb'"projectHash":\s?"')
_SESSION = re.compile(rb'"sessionId":\s?("(?:[^"\\]|\\.)*")')
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,128}")


class _Sessions(SessionFiles):
    def wrote(self, head: bytes) -> bool:
        return _HEADER.search(head) is not None

    def reader(self, path: Path, mask: Mask) -> TranscriptReader:
        from sapwood.programs.gemini.reader import GeminiReader

        is_subagent = path.parent.parent.name == "chats"
        return GeminiReader(parent=path.parent.name if is_subagent else "", mask=mask)

    def files(self, home: Path, folder: Path | None) -> Iterable[Path]:
        names = ("tmp/*/chats/session-*.json", "tmp/*/chats/session-*.jsonl")
        return chain.from_iterable(map(home.glob, names))

    def opened(self, found: FoundSession) -> FoundSession:
        with found.path.open("rb") as file:
            head = file.read(_FIRST_BYTES)
        root = ""
        with suppress(OSError):
            root = (found.path.parents[1] / ".project_root").read_text("utf-8", "replace").strip()
        name = decoded_string(_SESSION.search(head)) or found.id
        return structs.replace(found, id=name, folder=root)

    def may_have_run_in(self, found: FoundSession, folder: Path) -> bool:
        return found.path.parents[1].name == sha256(str(folder).encode()).hexdigest()

    def subagents(self, found: FoundSession) -> Iterable[Path]:
        is_safe = _PLAIN.fullmatch(found.id)  # it comes from the file
        return (found.path.parent / found.id).glob("*.jsonl") if is_safe else ()


SESSIONS = _Sessions(PROGRAM)
