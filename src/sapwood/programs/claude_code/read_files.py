"""The files that the program knows from turns that leave the history.

Claude Code edits a file only if it has read it. After a trim it has forgotten that, so it is told
again which files it knew, if they have not changed since.
"""

import os
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from sapwood.core.content import ToolCall
from sapwood.programs.claude_code.contents import parts_of
from sapwood.programs.claude_code.rows import decode_row
from sapwood.programs.claude_code.transcript import LinkRow, Transcript
from sapwood.programs.transcripts.transcript_events import microseconds

_TOOLS = frozenset({"Read", "Edit", "Write", "MultiEdit"})
_SLACK_US = 2_000_000
"""A row is written a moment after its tool has run."""

_MOST_FILES = 500


class KnownFile(Struct, frozen=True):
    """A file, and the time of its last change in milliseconds."""

    path: str
    mtime: int


class _Arguments(Struct):
    file_path: str = ""


def known_files(transcript: Transcript, rows: Iterable[LinkRow]) -> list[KnownFile]:
    """The files that the tools in these rows read or wrote, and that are unchanged since."""
    times: dict[str, int] = {}
    for row in rows:
        if row.type != "assistant":
            continue
        content = transcript.bytes_of(row)
        if b'"file_path"' not in content or (decoded := decode_row(content)) is None:
            continue
        parts = parts_of(decoded.message.content if decoded.message else None)
        for part in parts:
            if isinstance(part, ToolCall) and part.name in _TOOLS and (path := _path(part)):
                times[path] = max(times.get(path, 0), microseconds(decoded.timestamp))
    found: list[KnownFile] = []
    for path, seen in times.items():
        try:
            changed = os.stat(path).st_mtime_ns
        except OSError:
            continue
        if changed // 1_000 <= seen + _SLACK_US:
            found.append(KnownFile(path, changed // 1_000_000 + 1))
    return found[-_MOST_FILES:]


def _path(call: ToolCall) -> str:
    try:
        return msgspec.json.decode(call.args, type=_Arguments).file_path
    except (msgspec.MsgspecError, ValueError):
        return ""
