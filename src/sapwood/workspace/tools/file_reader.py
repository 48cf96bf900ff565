"""`read_file`: numbered lines, and notes on what is not shown."""

from collections.abc import Iterator
from typing import IO

from sapwood.core.turn import MAX_SHOWN
from sapwood.workspace.safe_paths import ResolvedPath, open_file
from sapwood.workspace.tool_output import MAX_RESULT_BYTES, ToolError, byte_size

_PEEK = 8_192
_MAX_BYTES = MAX_SHOWN - 500
"""Characters of one result: more would be cut in the middle before a model sees it."""
_NUMBER = 8
"""Characters that a line's number takes."""
_COUNT_UP_TO = 100_000_000
"""Bytes up to which the lines of a file are counted that are not shown."""
_KINDS = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive (or an office document)"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "an SQLite database"),
)
_UTF16_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def read_file(place: ResolvedPath, offset: int = 1, limit: int = 0) -> str:
    """The lines from `offset` on, at most `limit` if that is not 0.

    Raises `ToolError` if the file is not text or has fewer lines.
    """
    with open_file(place) as file:
        head = file.read(_PEEK)
        if not head:
            return f"[{place.shown} is empty]"
        if head[:2] in _UTF16_MARKS:
            return _numbered(_utf16_lines(place, head, file), place, offset, limit)
        if is_binary(head):
            length = file.seek(0, 2)
            raise ToolError(f"{place.shown} is {_kind(head)} of {byte_size(length)}, not text.")
        file.seek(0)
        return _numbered(_lines(file), place, offset, limit, file)


def is_binary(head: bytes) -> bool:
    """Whether these first bytes of a file are not text."""
    return b"\0" in head or head.startswith(_KINDS[3][0])


def _kind(head: bytes) -> str:
    return next((kind for magic, kind in _KINDS if head.startswith(magic)), "a binary file")


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(MAX_RESULT_BYTES + 1):
        yield line


def _utf16_lines(place: ResolvedPath, head: bytes, file: IO[bytes]) -> Iterator[bytes]:
    data = head + file.read(2 * MAX_RESULT_BYTES)
    if file.read(1):
        raise ToolError(f"{place.shown} is UTF-16 and too large to convert.")
    text = data.decode(_UTF16_MARKS[head[:2]], "replace")
    yield from (line.encode() for line in text.splitlines(keepends=True))


def _numbered(
    lines: Iterator[bytes],
    place: ResolvedPath,
    offset: int,
    limit: int,
    file: IO[bytes] | None = None,
) -> str:
    shown: list[str] = []
    notes: list[str] = []
    number = used = 0
    for raw in lines:
        number += 1
        if number < offset:
            continue
        used += len(raw) + _NUMBER
        if used > _MAX_BYTES or (limit and len(shown) == limit):
            if not shown:
                shown.append(_shown(number, raw[:_MAX_BYTES]))
                notes.append(
                    f"line {number} continues: it is longer than {byte_size(_MAX_BYTES)}; "
                    f"offset={number + 1} shows what follows it"
                )
            else:
                notes.append(_more_lines_note(number, file))
            break
        shown.append(_shown(number, raw))
        if raw.endswith(b"\r\n") and not notes:
            notes.append("lines end in CR LF")
    if not shown:
        raise ToolError(f"{place.shown} has {number:,} lines; there is no line {offset:,}.")
    if any("\N{REPLACEMENT CHARACTER}" in line for line in shown):
        notes.append("some bytes are not UTF-8 and are shown as \N{REPLACEMENT CHARACTER}")
    return "\n".join([*shown, *(f"[{note}]" for note in notes)])


def _shown(number: int, raw: bytes) -> str:
    text = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
    return f"{number:6}\t{text.removeprefix(chr(0xFEFF)) if number == 1 else text}"


def _more_lines_note(number: int, file: IO[bytes] | None) -> str:
    note = f"the file continues; offset={number} shows more"
    if file is None:
        return note
    place = file.tell()
    if file.seek(0, 2) > _COUNT_UP_TO:
        return note
    file.seek(place)
    total = number + sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    return f"{note} of about {total:,} lines"
