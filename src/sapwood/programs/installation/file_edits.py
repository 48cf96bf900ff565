"""Changes to files as values: they can be shown first and applied later."""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sapwood.config.folders import data_folder
from sapwood.core.errors import SapwoodError
from sapwood.core.plural import counted
from sapwood.private_files import replace_file

_MAX_LINES = 20
"""How many lines of a file an error shows."""


class InstallError(SapwoodError):
    """Sapwood could not be installed or removed; the message says what was kept."""


class FileEdit(Struct, frozen=True):
    """The content of one file before and after. None is a file that does not exist.

    `private` is true for a file that only its owner may read.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    private: bool = False


def record_file(name: str) -> Path:
    """The file with the record of an installation."""
    return data_folder() / "installed" / f"{name}.json"


def read_bytes(path: Path) -> bytes | None:
    """The content of a file; None if it does not exist. Raises `InstallError`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InstallError(f"{path} cannot be read: {error.strerror}.") from error


def cannot_edit(path: Path, text: bytes, words: str, reason: str) -> InstallError:
    """The error for a file that only its user can edit; it shows the lines that have the words."""
    lines = text.decode("utf-8", "replace").splitlines()
    found = [f"  {number}: {line.strip()}" for number, line in enumerate(lines, 1) if words in line]
    if not found:
        return InstallError(f"Could not edit {path}: {reason}. Nothing was changed.")
    return InstallError(
        "\n".join(
            (
                f"Could not edit {path}: {reason}.",
                "Delete the settings in these lines, with the headers that belong to them, "
                "then run this again:",
                *found[:_MAX_LINES],
            )
        )
    )


def missing_folders(edits: Iterable[FileEdit]) -> list[Path]:
    """The folders that applying the edits will create, the outermost first."""
    found: dict[Path, None] = {}
    for edit in edits:
        if edit.after is not None:
            missing = [each for each in edit.path.parents if not each.exists()]
            found.update(dict.fromkeys(reversed(missing)))
    return list(found)


def apply_edits(edits: Sequence[FileEdit]) -> None:
    """Applies all edits or none. Raises `InstallError` after undoing those that were applied.

    A file that is not as it was when the edit was planned is not written.
    """
    for number, edit in enumerate(edits):
        try:
            if _read_or_none(edit.path) != edit.before:
                raise OSError(None, "it changed in the meantime")
            _write(edit, edit.after)
        except OSError as error:
            for done in reversed(edits[:number]):
                with suppress(OSError):
                    _write(done, done.before)
            raise InstallError(
                f"{edit.path} cannot be written: {error.strerror}. Nothing was changed."
            ) from error


def _read_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(edit: FileEdit, content: bytes | None) -> None:
    if content is None:
        edit.path.resolve().unlink(missing_ok=True)
    elif edit.private:
        replace_file(edit.path, content)
    else:
        replace_file(edit.path, content, mode=0o644, folder_mode=0o777)


def edit_lines(edits: Sequence[FileEdit], folders: Sequence[Path] = ()) -> Iterator[str]:
    """The changes as lines for people; for files in `folders`, only how many change."""
    for folder in folders:
        inside = [edit for edit in edits if edit.path.is_relative_to(folder)]
        for title, count in Counter(map(_title, inside)).items():
            yield f"{title}: {folder} ({counted(count, 'file')})"
    for edit in edits:
        if not any(edit.path.is_relative_to(folder) for folder in folders):
            yield f"{_title(edit)}: {edit.path}"
            yield from _difference(edit.before or b"", edit.after or b"")


def _title(edit: FileEdit) -> str:
    if edit.before is None:
        return "New"
    return "Removed" if edit.after is None else "Changed"


def _difference(before: bytes, after: bytes) -> Iterator[str]:
    old, new = (each.decode("utf-8", "replace").splitlines() for each in (before, after))
    changes = difflib.unified_diff(old, new, lineterm="", n=2)
    yield from (f"  {line}" for line in list(changes)[2:])
