"""The rows of a Claude Code transcript as a tree, and the part of it that the program would load.

Only the few fields that link rows are decoded, because a transcript may have tens of megabytes.
The reader decodes what the rows say.
"""

import os
import weakref
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from sapwood.programs.claude_code.rows import (
    MESSAGE_TYPES,
    Compaction,
    LinkRow,
    decode_link_row,
)

_NOISE = (
    b'{"type":"api-request',  # also -blob and -shape, which are large
    b'{"type":"queue-operation"',
    b'{"type":"file-history-',
    b'{"type":"tools-used"',
    b'{"type":"atis-latch"',
    b'{"type":"cost-state"',
)
_BUFFER = 128 * 1024
"""Larger pieces leave the cache of the processor before their rows are decoded."""

_HOLDING = MESSAGE_TYPES | {"progress", "last-prompt"}


class Transcript:
    """The rows of one transcript, as they were when it was read.

    `size` is its number of bytes then, and `has_whole_lines` whether its last line had ended. The
    rows themselves stay in the file until they are needed.
    """

    def __init__(self, path: Path, lines: Iterable[bytes] = (), start: int = 0) -> None:
        self.path = path
        self.rows: list[LinkRow] = []
        self.place: dict[str, int] = {}
        self._checkpoint: tuple[int, str | None] | None = None
        self._boundary = -1
        self.size, self.has_whole_lines = start, True
        self.add_lines(lines)

    def add_lines(self, lines: Iterable[bytes]) -> None:
        """Adds lines that follow those that were read."""
        start = end = self.size
        line = b"\n" if self.has_whole_lines else b""
        for line in lines:
            start, end = end, end + len(line)
            if line.startswith(_NOISE):
                continue
            row = decode_link_row(line)
            if row is not None and row.type in _HOLDING:
                row.start, row.end = start, end
                self._add(row)
        self.size, self.has_whole_lines = end, line.endswith(b"\n")

    def _add(self, row: LinkRow) -> None:
        if row.type == "last-prompt":
            if row.explicit:
                self._checkpoint = len(self.rows), row.leaf_uuid
        elif row.uuid and row.uuid not in self.place:
            if row.is_boundary:
                self._boundary = len(self.rows)
            self.place[row.uuid] = len(self.rows)
            self.rows.append(row)

    @property
    def version(self) -> str:
        """The version of the program that wrote the last row; empty if no row says so."""
        return next((row.version for row in reversed(self.rows) if row.version), "")

    def row(self, uuid: str) -> LinkRow | None:
        """The row with this id."""
        place = self.place.get(uuid)
        return None if place is None else self.rows[place]

    def bytes_of(self, row: LinkRow) -> bytes:
        """The row as it is in the file. Raises `OSError`."""
        return os.pread(self._opened, row.end - row.start, row.start).rstrip(b"\n")

    @cached_property
    def _opened(self) -> int:
        """The open file: thousands of rows are read one by one."""
        number = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, number)
        return number

    def loaded(self) -> list[LinkRow] | None:
        """The rows that the program would load now, from the first to the newest.

        None if that cannot be said with certainty, for example because a row is missing.
        """
        at = self._boundary
        parents: dict[str, str | None] = {}
        kept: Sequence[str] = ()
        if at >= 0:
            boundary = self.rows[at]
            listed = _kept_by(boundary.compact_metadata)
            if listed is None:
                return None
            anchor, kept = listed
            before = anchor or boundary.uuid
            for uuid in kept:
                if uuid not in self.place or uuid in parents:
                    return None
                parents[uuid] = before
                before = uuid
        leaf, is_known = self._leaf(at, kept)
        if not is_known:
            return None
        return self._chain(leaf, at, parents, kept)

    def with_parallel_results(self, loaded: Sequence[LinkRow]) -> list[LinkRow]:
        """These rows with the results of parallel calls, which are beside the chain.

        The program adds them too: each comes after the calls of its message.
        """
        on_chain = {row.uuid for row in loaded}
        beside: dict[str, list[LinkRow]] = {}
        for row in self.rows:
            is_beside = row.parent_uuid in on_chain and row.uuid not in on_chain
            if is_beside and row.type == "user" and row.is_message and self.has_result(row):
                beside.setdefault(row.parent_uuid or "", []).append(row)
        found: list[LinkRow] = []
        waiting: list[LinkRow] = []
        for row in loaded:
            if row.type != "assistant":
                found += waiting
                waiting = []
            found.append(row)
            waiting += beside.get(row.uuid or "", [])
        return found + waiting

    def has_result(self, row: LinkRow) -> bool:
        """Whether the row holds the result of a tool call."""
        return b'"type":"tool_result"' in self.bytes_of(row)

    def _leaf(self, at: int, kept: Sequence[str]) -> tuple[str | None, bool]:
        """The newest row, and whether it is known."""
        if self._checkpoint is not None:
            count, leaf = self._checkpoint
            if count == len(self.rows):  # no row came after it
                return leaf, leaf is None or leaf in self.place
        for row in reversed(self.rows[at + 1 :]):
            if row.is_message or row.is_compact_summary or row.closes_turn:
                if row.is_compact_summary and kept:
                    break
                return row.uuid, True
        return (kept[-1] if kept else None), True

    def _chain(
        self, leaf: str | None, at: int, parents: dict[str, str | None], kept: Sequence[str]
    ) -> list[LinkRow] | None:
        chain: list[LinkRow] = []
        seen: set[str] = set()
        uuid = leaf
        anchor = parents[kept[0]] if kept else None
        while uuid:
            place = self.place.get(uuid)
            if place is None or uuid in seen:
                return None
            seen.add(uuid)
            row = self.rows[place]
            chain.append(row)
            if uuid in parents:
                uuid = parents[uuid]
                continue
            if place < at:  # a row that was left behind: the program continues at the last kept one
                chain.pop()
                uuid = kept[-1] if kept else None
                if uuid in seen:
                    return None
                continue
            uuid = row.parent_uuid
            if kept and uuid == anchor and kept[-1] not in seen and row.uuid != anchor:
                uuid = kept[-1]
        chain.reverse()
        return chain


def file_size(path: str | Path) -> int | None:
    """The number of bytes of a file; None if there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def read_transcript(path: Path, start: int = 0) -> Transcript:
    """Reads a transcript, or what comes after its first `start` bytes. Raises `OSError`."""
    with path.open("rb", buffering=_BUFFER) as file:
        file.seek(start)
        return Transcript(path, file, start)


def read_on(transcript: Transcript) -> None:
    """Adds what was appended to the file since the transcript was read. Raises `OSError`.

    The last line must have ended when it was read.
    """
    with transcript.path.open("rb", buffering=_BUFFER) as file:
        file.seek(transcript.size)
        transcript.add_lines(file)


def _kept_by(metadata: Compaction | None) -> tuple[str | None, Sequence[str]] | None:
    """The row after which kept rows come, and their ids; None if only the program can tell."""
    if metadata is None or (metadata.preserved is None and metadata.segment is None):
        return None, ()
    if metadata.preserved is None or metadata.preserved.uuids is None:
        return None
    return metadata.preserved.anchor, metadata.preserved.uuids
