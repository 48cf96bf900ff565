"""`write_file` and `edit_file`, and the previews that a person sees before they are allowed.

Replaces a file of the user atomically, and never through a symlink.
"""

import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from difflib import SequenceMatcher, unified_diff

from sapwood.core.plural import counted
from sapwood.redaction import find_masks, mask_secrets
from sapwood.workspace.safe_paths import ResolvedPath, open_file, open_parent
from sapwood.workspace.tool_output import MAX_RESULT_BYTES, ToolError, byte_size
from sapwood.workspace.tools.file_reader import is_binary

FileState = tuple[int, int, int]
"""Identifies a state of a file: inode number, size and time of the last change."""


def file_state(descriptor: int) -> FileState:
    """The state of an open file."""
    return _state(os.fstat(descriptor))


def replace_file(place: ResolvedPath, data: bytes, expected: FileState | None = None) -> bool:
    """Writes the file and creates its folders; returns whether the file existed before.

    Raises `ToolError` if the file is not in the `expected` state any more, or cannot be written.
    """
    with open_parent(place, make=True) as (folder, name):
        before = _existing(place, folder, name)
        if expected is not None and (before is None or _state(before) != expected):
            raise ToolError(f"{place.shown} changed while it was edited. Read it again.")
        temporary = f".sapwood-{secrets.token_hex(8)}"
        try:
            _write(folder, temporary, data, before)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise ToolError(f"{place.shown} was not written: {error.strerror}.") from error
        finally:
            _remove(folder, temporary)
    return before is not None


def _existing(place: ResolvedPath, folder: int, name: str) -> os.stat_result | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise ToolError(f"{place.shown} is a folder. Give the path of a file.")
    if stat.S_ISLNK(found.st_mode):
        raise ToolError(f"{place.shown} just became a symlink. Nothing was written.")
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{place.shown} is not a file but a device, pipe or socket.")
    return found


def _write(folder: int, name: str, data: bytes, before: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o666, dir_fd=folder), "wb") as file:
        if before is not None:
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            _keep_owner(file.fileno(), before)
        file.write(data)


def _keep_owner(descriptor: int, before: os.stat_result) -> None:
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):  # only root may change the owner
            os.fchown(descriptor, before.st_uid, before.st_gid)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):  # it was renamed
        os.unlink(name, dir_fd=folder)


def _state(found: os.stat_result) -> FileState:
    return found.st_ino, found.st_size, found.st_mtime_ns


_MAX_COMPARED = 400_000
"""Characters up to which two texts are compared line by line; the time grows with the square."""
_MAX_LINES_COMPARED = 20_000
_MAX_DIFF = 20_000
"""Characters of a change that are kept with the result of the call."""
_MIN_SIMILARITY = 0.6
_CONTEXT_LINES = 2


def write_file(place: ResolvedPath, content: str, secrets: Sequence[str]) -> tuple[str, bytes]:
    """Writes exactly this content, replacing the file. Returns what was done, and the content.

    Raises `ToolError` if the content contains a mask of one of the `secrets` in the file.
    """
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise ToolError("The content contains half of a surrogate pair. Send it again.") from error
    _require_no_mask(place, content, _present(place), secrets)
    was_there = replace_file(place, data)
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    done = "Replaced" if was_there else "Created"
    return f"{done} {place.shown}: {counted(lines, 'line')}, {byte_size(len(data))}.", data


def preview_write(place: ResolvedPath, content: str) -> str:
    """The change that writing would make, as a diff."""
    try:
        present, note = _read_text(place)[0], ""
    except ToolError as error:
        present, note = "", f"{error}\n" if os.path.lexists(place.real) else ""
    return note + _diff(place, present, content)


def edit_file(
    place: ResolvedPath, old: str, new: str, everywhere: bool, secrets: Sequence[str]
) -> tuple[str, bytes]:
    """Replaces the one occurrence of `old`, or all. Returns what was done, and the new content.

    Raises `ToolError` if `old` does not occur, occurs more than once, or if the edit would replace
    one of the `secrets` by its mask, which is what a model sees of it.
    """
    text, state = _read_text(place)
    _require_no_mask(place, old + new, text, secrets)
    edited, lines = _edited(place, text, old, new, everywhere)
    data = edited.encode()
    replace_file(place, data, state)
    where = ", ".join(f"{line:,}" for line in lines[:20]) + (", …" if len(lines) > 20 else "")
    return f"Edited {place.shown} at line{'s' if len(lines) > 1 else ''} {where}.", data


def preview_edit(
    place: ResolvedPath, old: str, new: str, everywhere: bool, secrets: Sequence[str]
) -> str:
    """The change that an edit would make, as a diff. Raises `ToolError` if it is impossible."""
    text, _ = _read_text(place)
    _require_no_mask(place, old + new, text, secrets)
    edited, _ = _edited(place, text, old, new, everywhere)
    return _diff(place, text, edited)


def shown_diff(diff: str) -> str:
    """A diff as it is kept with a result: whole, or its start and how much is missing."""
    if len(diff) <= _MAX_DIFF:
        return diff
    kept = diff[:_MAX_DIFF].rpartition("\n")[0]
    return f"{kept}\n[{diff.count(chr(10)) - kept.count(chr(10)):,} more lines of the change]"


def _edited(
    place: ResolvedPath, text: str, old: str, new: str, everywhere: bool
) -> tuple[str, list[int]]:
    if old not in text and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    if old == new:
        raise ToolError("old_text and new_text are the same. Nothing was changed.")
    lines = _line_numbers(text, old)
    if not lines:
        raise ToolError(f"old_text is not in {place.shown}. {_similar_lines(text, old)}")
    if len(lines) > 1 and not everywhere:
        where = ", ".join(f"{line:,}" for line in lines[:20])
        raise ToolError(
            f"old_text is in {place.shown} {len(lines)} times, at lines {where}. "
            "Add lines around the one that you mean, or set all."
        )
    return text.replace(old, new), lines


def _line_numbers(text: str, old: str) -> list[int]:
    """The line numbers where `old` starts, without overlaps."""
    found: list[int] = []
    line, counted = 1, 0
    place = text.find(old)
    while place >= 0:
        line += text.count("\n", counted, place)
        counted = place
        found.append(line)
        place = text.find(old, place + len(old))
    return found


def _similar_lines(text: str, old: str) -> str:
    """The lines of the file that resemble `old`, for the error message."""
    lines = text.split("\n")[:_MAX_LINES_COMPARED]
    wanted = old.strip("\n").split("\n")
    normalised = [" ".join(line.split()) for line in lines]
    start = _same_words(normalised, [" ".join(line.split()) for line in wanted])
    if start is not None:
        return f"It occurs with different whitespace:\n{_numbered(lines, start, len(wanted), 0)}"
    key = max(wanted, key=lambda line: len(line.strip()))
    start = _most_similar(normalised, " ".join(key.split()))
    if start is None:
        return "No line in it is similar. Read the file again."
    first = max(0, start - wanted.index(key))
    return f"The most similar lines are:\n{_numbered(lines, first, len(wanted), _CONTEXT_LINES)}"


def _same_words(normalised: list[str], wanted: list[str]) -> int | None:
    for start in range(len(normalised) - len(wanted) + 1):
        if normalised[start] == wanted[0] and normalised[start : start + len(wanted)] == wanted:
            return start
    return None


def _most_similar(normalised: list[str], key: str) -> int | None:
    matcher = SequenceMatcher(None, "", key[:500], autojunk=False)
    best, place = _MIN_SIMILARITY, None
    for number, line in enumerate(normalised):
        matcher.set_seq1(line[:500])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, place = ratio, number
    return place


def _numbered(lines: list[str], first: int, count: int, around: int) -> str:
    start = max(0, first - around)
    end = min(len(lines), first + min(count, 40) + around)
    return "\n".join(f"{n + 1:6}\t{lines[n].removesuffix(chr(13))}" for n in range(start, end))


def _present(place: ResolvedPath) -> str:
    """The text of the file, '' if there is none or it cannot be compared."""
    try:
        return _read_text(place)[0]
    except ToolError:
        return ""


def _read_text(place: ResolvedPath) -> tuple[str, FileState]:
    """The text of a file and its state. Raises `ToolError` if it is not text or too large."""
    with open_file(place) as file:
        data = file.read(MAX_RESULT_BYTES + 1)
        if len(data) > MAX_RESULT_BYTES:
            limit = byte_size(MAX_RESULT_BYTES)
            raise ToolError(f"{place.shown} is larger than {limit}. Edit it with the shell.")
        if is_binary(data[:8_192]):
            raise ToolError(f"{place.shown} is not text.")
        try:
            return data.decode(), file_state(file.fileno())
        except UnicodeDecodeError as error:
            raise ToolError(f"{place.shown} is not UTF-8. Edit it with the shell.") from error


def _diff(place: ResolvedPath, before: str, after: str) -> str:
    """The whole change, for the person who is asked for permission."""
    path, old, new = place.shown, _exact_lines(before), _exact_lines(after)
    if len(before) + len(after) <= _MAX_COMPARED:
        return "\n".join(unified_diff(old, new, path, path, lineterm="", n=_CONTEXT_LINES))
    head = [f"--- {path}", f"+++ {path}", f"@@ -1,{len(old)} +1,{len(new)} @@"]
    return "\n".join([*head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)])


def _exact_lines(text: str) -> list[str]:
    """The lines of a text with every character but the line break, also a `\\r`."""
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _require_no_mask(place: ResolvedPath, written: str, text: str, secrets: Sequence[str]) -> None:
    """Raises `ToolError` for the mask of a secret in the file, which would replace the secret."""
    masks = [mask for mask in find_masks(written) if mask not in text]
    if masks and any(mask in mask_secrets(text, secrets) for mask in masks):
        raise ToolError(
            f"{masks[0]} stands for a secret in {place.shown}, which you cannot see and must not "
            "overwrite. Nothing was changed. Edit the lines around it."
        )
