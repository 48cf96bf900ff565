"""Changes to files as values: looked at first, then made, and told as a person reads them."""

import difflib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sapwood.core.errors import SapwoodError

__all__ = ["Edit", "InstallError", "edit_lines", "make_edits", "missing_folders", "read_bytes"]


class InstallError(SapwoodError):
    """Something could not be installed or taken out; the message says what was kept."""


class Edit(Struct, frozen=True):
    """One file, before and after. None is a file that is not there."""

    path: Path
    before: bytes | None
    after: bytes | None


def read_bytes(path: Path) -> bytes | None:
    """What is in a file, or None."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InstallError(f"{path} cannot be read: {error.strerror}.") from error


def missing_folders(edits: Iterable[Edit]) -> list[Path]:
    """The folders that making the edits will make, the outermost first."""
    found: dict[Path, None] = {}
    for edit in edits:
        if edit.after is not None:
            missing = [each for each in edit.path.parents if not each.exists()]
            found.update(dict.fromkeys(reversed(missing)))
    return list(found)


def make_edits(edits: Sequence[Edit]) -> None:
    """Makes all of them, or none: what was done is taken back when one cannot be."""
    done: list[Edit] = []
    try:
        for edit in edits:
            _write(edit.path, edit.after)
            done.append(edit)
    except OSError as error:
        for edit in reversed(done):
            with suppress(OSError):
                _write(edit.path, edit.before)
        raise InstallError(
            f"{error.filename} cannot be written: {error.strerror}. Nothing was changed."
        ) from error


def _write(path: Path, content: bytes | None) -> None:
    """Replaces a file as a whole; it keeps its rights, and a link stays a link."""
    path = path.resolve()
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        fresh.write_bytes(content)
        fresh.chmod(mode)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def edit_lines(edits: Sequence[Edit], folders: Sequence[Path] = ()) -> Iterator[str]:
    """What will change: line by line, but of `folders`, which are ours, only that they do."""
    for folder in folders:
        inside = [edit for edit in edits if edit.path.is_relative_to(folder)]
        for title, count in Counter(map(_title, inside)).items():
            yield f"{title}: {folder} ({count} files)"
    for edit in edits:
        if not any(edit.path.is_relative_to(folder) for folder in folders):
            yield f"{_title(edit)}: {edit.path}"
            yield from _difference(edit.before or b"", edit.after or b"")


def _title(edit: Edit) -> str:
    if edit.before is None:
        return "New"
    return "Removed" if edit.after is None else "Changed"


def _difference(before: bytes, after: bytes) -> Iterator[str]:
    old, new = (each.decode("utf-8", "replace").splitlines() for each in (before, after))
    changes = difflib.unified_diff(old, new, lineterm="", n=2)
    yield from (f"  {line}" for line in list(changes)[2:])
