"""Which program wrote a transcript, told from its first rows, and a reader for it."""

import re
from pathlib import Path

from sapwood.sources.reading import About, Reader

__all__ = ["FAR", "HEAD", "reader_for", "source_of"]

HEAD = 64 * 1024
"""As much of a file as tells what it is."""

FAR = 16 * HEAD
"""As much as is looked at when the first rows tell nothing."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{17}")
_CODEX = re.compile(rb'"type":\s?"(?:session_meta|response_item|turn_context|event_msg)"')
_GEMINI = re.compile(rb'"projectHash":\s?"')
_CLAUDE = re.compile(rb'"(?:parentUuid|sessionId|leafUuid|isSidechain)":')


def source_of(head: bytes) -> str | None:
    """The program that wrote a file which begins like this, or None if it is not known here."""
    if _CODEX.search(head) and b'"payload"' in head:
        return "codex"
    if _GEMINI.search(head):
        return "gemini"
    return "claude-code" if _CLAUDE.search(head) else None


def reader_for(source: str, path: Path, known: About | None = None) -> Reader:
    """A new reader for the transcript of this program at this path.

    `known` is what an earlier reader learnt, for one that does not begin at the beginning.
    """
    reader = _new_reader(source, path)
    reader.about.id = known.id if known else _id_in(source, path)
    reader.about.model = known.model if known else ""
    return reader


def _id_in(source: str, path: Path) -> str:
    """The id that a transcript has by its name: what its program resumes it by."""
    stem = path.stem.removeprefix("agent-")
    return stem if source == "claude-code" and _UUID.fullmatch(stem) else ""


def _new_reader(source: str, path: Path) -> Reader:
    """Imports only the reader that is asked for: a hook pays for every import."""
    match source:
        case "codex":
            from sapwood.sources.codex.reader import CodexReader

            return CodexReader()
        case "gemini":
            from sapwood.sources.gemini.reader import GeminiReader

            nested = path.parent.parent.name == "chats"
            return GeminiReader(parent=path.parent.name if nested else "")
        case _:
            from sapwood.sources.claude.reader import ClaudeReader

            return ClaudeReader(subagent=path.name.startswith("agent-"))
