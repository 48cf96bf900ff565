"""Reads the rows of a file that another program may still be writing.

A row is complete when its line has ended. An incomplete last row is read later, when it is
complete.

A good row is decoded in one typed pass that skips unknown fields. A row with a field of an
unexpected type, half a surrogate pair or invalid UTF-8 is decoded again without types, and only the
values that do not fit are left out.
"""

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, Raw, Struct, structs

MAX_ROW = 256 * 1024 * 1024
"""A longer row is skipped: no program writes one, and it would have to fit into memory."""

_BUFFER = 1024 * 1024


def require_regular_file(path: Path) -> None:
    """Raises `OSError` for a pipe, a device or a socket: opening or reading it might never end."""
    if not stat.S_ISREG(os.stat(path).st_mode) and not path.is_dir():
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


class FilePosition(Struct, frozen=True):
    """A file, by its device and inode, and the byte up to which it was read."""

    file: tuple[int, int] = (0, 0)
    offset: int = 0


START = FilePosition()


class RowFile:
    """The rows of one file from a position on. Each `read` continues where the last one ended.

    `replaced` is true if the file at this path is another one or has become shorter, so that it was
    read from its beginning.
    """

    def __init__(self, path: Path, position: FilePosition = START) -> None:
        self._path = path
        self._file = position.file
        self._offset = position.offset
        self.replaced = False

    @property
    def position(self) -> FilePosition:
        """Where the next `read` begins."""
        return FilePosition(self._file, self._offset)

    def read(self, *, rest: bool = False) -> Iterator[tuple[bytes, int]]:
        """Yields every new row and its offset; with `rest`, also an incomplete last row."""
        require_regular_file(self._path)
        with self._path.open("rb", buffering=_BUFFER) as file:
            self._check_replaced(os.fstat(file.fileno()))
            file.seek(self._offset)
            while row := file.readline(MAX_ROW):
                offset = self._offset
                is_long = len(row) == MAX_ROW
                if is_long:
                    row = _last_of(file, row)
                if not row.endswith(b"\n") and not rest:
                    break
                self._offset = file.tell() if is_long else offset + len(row)
                if not is_long:
                    yield row, offset

    def _check_replaced(self, status: os.stat_result) -> None:
        """Starts from the beginning if this is not the file that was read before."""
        now = status.st_dev, status.st_ino
        self.replaced = self._file not in (START.file, now) or status.st_size < self._offset
        self._file = now
        if self.replaced:
            self._offset = 0


def _last_of(file: BinaryIO, row: bytes) -> bytes:
    """Skips a line that is too long for memory, and returns its last piece."""
    while not row.endswith(b"\n") and (more := file.readline(MAX_ROW)):
        row = more
    return row


Natural = Annotated[int, Meta(ge=0, le=2**53)]
"""A count that every program and database can hold."""

T = TypeVar("T", bound=Struct)
V = TypeVar("V")

_BAD = (msgspec.MsgspecError, ValueError, RecursionError)
_MISFIT: Any = object()


def row_decoder(kind: type[T]) -> Callable[[bytes | Raw], T | None]:
    """Makes a decoder of this struct, which returns None for bytes that are no object."""
    decode_typed = msgspec.json.Decoder(kind).decode

    def decode(row: bytes | Raw) -> T | None:
        try:
            return decode_typed(row)
        except _BAD:
            pass
        try:
            found: Any = json.loads(_readable(row))
            return _fitted(found, kind) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownArgumentType]
        except _BAD:
            return None

    return decode


def decode_json(row: bytes | Raw, kind: type[V]) -> V:
    """Decodes the whole JSON of a program, for a change that must keep all of it.

    Half a surrogate pair or invalid UTF-8 is replaced, as a reader does. Raises `ValueError` for
    anything else that is not JSON of this type.
    """
    try:
        return msgspec.json.decode(row, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(_readable(row), type=kind)


def _readable(row: bytes | Raw) -> bytes:
    """The JSON without halves of surrogate pairs and without invalid UTF-8."""
    found = json.loads(bytes(row).decode("utf-8", "replace"))
    return _whole(json.dumps(found, ensure_ascii=False)).encode()


def raw_text(raw: Raw) -> str:
    """JSON text as it was written. It was never decoded, so it may contain invalid UTF-8."""
    return bytes(raw).decode("utf-8", "replace")


def _fitted(found: dict[str, Any], kind: type[T]) -> T:
    """Makes the struct from the fields that fit."""
    fits: dict[str, Any] = {}
    for field in structs.fields(kind):
        if field.encode_name in found:
            value = _fit(found[field.encode_name], field.type)
            if value is not _MISFIT:
                fits[field.name] = value
    return kind(**fits)


def _fit(value: Any, kind: Any) -> Any:
    """The value, converted to one of the types of a union; `_MISFIT` if none fits."""
    for option in get_args(kind) or (kind,):
        fit = _fit_one(value, option)
        if fit is not _MISFIT:
            return fit
    return _MISFIT


def _fit_one(value: Any, kind: Any) -> Any:
    if get_origin(kind) is Annotated:
        return value if _is_within(value, kind) else _MISFIT
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        fits = [_fit(each, inner) for each in value] if isinstance(value, list) else _MISFIT  # pyright: ignore[reportUnknownVariableType]
        return fits if fits is _MISFIT else [fit for fit in fits if fit is not _MISFIT]
    if kind is Raw:
        return Raw(json.dumps(value).encode())
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _fitted(value, kind) if isinstance(value, dict) else _MISFIT  # pyright: ignore[reportUnknownArgumentType]
    # An exact match, because True is an int in Python.
    return value if type(value) is kind else _MISFIT


def _is_within(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _whole(text: str) -> str:
    """The text without halves of surrogate pairs, which databases and APIs refuse."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
