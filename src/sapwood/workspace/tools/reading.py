"""`read_file`: lines with their numbers, and what cannot be shown told instead of guessed."""

from collections.abc import Iterator
from typing import IO

from sapwood.workspace.bounds import MOST, size
from sapwood.workspace.errors import ToolError
from sapwood.workspace.places import Place, open_file

__all__ = ["is_binary", "read_file"]

_PEEK = 8_192
_COUNT_UP_TO = 100_000_000
"""Bytes of a file up to which its lines are counted although they are not shown."""
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
_WIDE = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def read_file(place: Place, offset: int = 1, limit: int = 0) -> str:
    """Lines from `offset` on, at most `limit` if that is not 0."""
    with open_file(place) as file:
        head = file.read(_PEEK)
        if not head:
            return f"[{place.shown} is empty]"
        if head[:2] in _WIDE:
            return _numbered(_wide_lines(place, head, file), place, offset, limit)
        if is_binary(head):
            length = file.seek(0, 2)
            raise ToolError(f"{place.shown} is {_kind(head)} of {size(length)}, not text.")
        file.seek(0)
        return _numbered(_lines(file), place, offset, limit, file)


def is_binary(head: bytes) -> bool:
    """Whether what a file begins with is not text."""
    return b"\0" in head or head.startswith(_KINDS[3][0])


def _kind(head: bytes) -> str:
    return next((kind for magic, kind in _KINDS if head.startswith(magic)), "a binary file")


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(MOST + 1):
        yield line


def _wide_lines(place: Place, head: bytes, file: IO[bytes]) -> Iterator[bytes]:
    data = head + file.read(2 * MOST)
    if file.read(1):
        raise ToolError(f"{place.shown} is in UTF-16 and too large to be converted.")
    text = data.decode(_WIDE[head[:2]], "replace")
    yield from (line.encode() for line in text.splitlines(keepends=True))


def _numbered(
    lines: Iterator[bytes], place: Place, offset: int, limit: int, file: IO[bytes] | None = None
) -> str:
    shown: list[str] = []
    notes: list[str] = []
    number = used = 0
    for raw in lines:
        number += 1
        if number < offset:
            continue
        used += len(raw)
        if used > MOST or (limit and len(shown) == limit):
            if not shown:
                shown.append(_shown(number, raw[:MOST]))
                notes.append(f"line {number} goes on: it is longer than {size(MOST)}")
            else:
                notes.append(_goes_on(number, file))
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


def _goes_on(number: int, file: IO[bytes] | None) -> str:
    told = f"the file goes on; offset={number} shows more"
    if file is None:
        return told
    place = file.tell()
    if file.seek(0, 2) > _COUNT_UP_TO:
        return told
    file.seek(place)
    total = number + sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    return f"{told} of about {total:,} lines"
