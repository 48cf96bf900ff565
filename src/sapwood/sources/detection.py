"""Detects which program wrote a transcript, and makes the reader for it.

Imports a reader only when it is needed, because a hook pays for every import.
"""

import re
from pathlib import Path

from sapwood.core.errors import SapwoodError
from sapwood.redaction import mask_secrets
from sapwood.sources.transcript_events import Mask, SessionDetails, TranscriptReader

HEAD = 64 * 1024
"""Bytes at the start of a file that usually show which program wrote it."""

FAR = 16 * HEAD
"""Bytes that are searched if the first rows do not show it."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{17}")
_CODEX = re.compile(rb'"type":\s?"(?:session_meta|response_item|turn_context|event_msg)"')
_GEMINI = re.compile(rb'"projectHash":\s?"')
_CLAUDE = re.compile(rb'"(?:parentUuid|sessionId|leafUuid|isSidechain)":')


def detect_source(head: bytes) -> str | None:
    """The program that wrote a file with this beginning; None if it is not known."""
    if _CODEX.search(head) and b'"payload"' in head:
        return "codex"
    if _GEMINI.search(head):
        return "gemini"
    return "claude-code" if _CLAUDE.search(head) else None


def reader_for(
    source: str,
    path: Path,
    known: SessionDetails | None = None,
    *,
    mask: Mask = mask_secrets,
) -> TranscriptReader:
    """Makes a reader for a program's transcript.

    `known` are details from an earlier import, for a reader that starts in the middle. `mask` masks
    the secrets in tool results.
    """
    reader = _new_reader(source, path, mask)
    reader.details.id = known.id if known else _id_in(source, path)
    reader.details.model = known.model if known else ""
    return reader


def _id_in(source: str, path: Path) -> str:
    """The session id in a transcript's file name, which its program resumes it by; else empty."""
    stem = path.stem.removeprefix("agent-")
    return stem if source == "claude-code" and _UUID.fullmatch(stem) else ""


def _new_reader(source: str, path: Path, mask: Mask) -> TranscriptReader:
    match source:
        case "codex":
            from sapwood.sources.codex.reader import CodexReader

            return CodexReader(mask=mask)
        case "gemini":
            from sapwood.sources.gemini.reader import GeminiReader

            nested = path.parent.parent.name == "chats"
            return GeminiReader(parent=path.parent.name if nested else "", mask=mask)
        case _:
            from sapwood.sources.claude.reader import ClaudeReader

            return ClaudeReader(subagent=path.name.startswith("agent-"), mask=mask)


class NotATranscript(SapwoodError):
    """A file cannot be read, or is not the transcript of a known program."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{str(path)!r} {reason}. Nothing was changed. "
            "Give a transcript of Claude Code, Codex or Gemini CLI."
        )
        self.path = path
