"""Restores the files that differ between two checkpoints, each file atomically.

Files that were not saved are not changed: ignored ones, too large ones, nested repositories.
"""

import os
import secrets
import stat
import subprocess
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager, suppress
from errno import EDQUOT, ENOSPC, EROFS
from hashlib import sha1, sha256
from typing import IO

from msgspec import Struct

from sapwood.core.checkpoint import Restored, Why
from sapwood.workspace.checkpoints.checkpoint_save import left_out_for_event, left_out_paths
from sapwood.workspace.checkpoints.git_command import GitError
from sapwood.workspace.checkpoints.repository import Repository
from sapwood.workspace.places import Place, open_parent
from sapwood.workspace.tool_output import ToolError

__all__ = ["FileDifference", "has_checkpoint", "object_reader", "restore"]

_LINK, _PROGRAM = 0o120000, 0o100755
_CHUNK = 1 << 20
_SHA1_LENGTH = 40


class FileDifference(Struct, frozen=True):
    """A path, its modes before and after, 0 for none, and its objects before and after."""

    path: bytes
    before: int
    after: int
    saved: bytes
    object: bytes


def has_checkpoint(repository: Repository, commit: str) -> bool:
    """Whether the repository still contains this checkpoint."""
    try:
        repository.files().run("cat-file", "-e", f"{commit}^{{tree}}")
    except GitError:
        return False
    return True


def restore(repository: Repository, present: str, commit: str) -> Restored:
    """Changes the files to those of `commit`. `present` is the checkpoint of their present state.

    Raises `OSError` if the disk is full; then some files are restored and others are not.
    """
    git = repository.files()
    differences = _differences(git.run("diff-tree", "-r", "-z", "--raw", present, commit))
    rules = [each for each in differences if os.path.basename(each.path) == b".gitignore"]
    others = [each for each in differences if os.path.basename(each.path) != b".gitignore"]
    work, left_out = _Restoration(repository), left_out_paths(git, commit)
    with object_reader(repository) as read:
        # Ignore files come first: what they ignore was not saved then and must not be removed now.
        for group in (rules, others):
            removals = [each for each in group if not each.after]
            ignored = _ignored(repository, removals)
            for each in removals:
                if each.path in left_out:
                    work.left_out.append((each.path, left_out[each.path]))
                elif each.path not in ignored:
                    work.remove(each)
            for each in group:
                if each.after:
                    work.write(each, read)
    left, more = left_out_for_event(work.left_out)
    return Restored(work.written, work.removed, left, more)


class _Restoration:
    """Changes files and counts them. A file that cannot be changed does not stop the others."""

    def __init__(self, repository: Repository) -> None:
        self._top = repository.top
        self.written = 0
        self.removed = 0
        self.left_out: list[tuple[bytes, Why]] = []

    def remove(self, each: FileDifference) -> None:
        try:
            with open_parent(self._place(each.path)) as (folder, name):
                before = _state(folder, name)
                if before is None:
                    return
                if not _is_saved(folder, name, before, each):
                    self.left_out.append((each.path, "unsaved"))
                    return
                os.unlink(name, dir_fd=folder)
        except (OSError, ToolError) as error:
            self._leave_out(each, error)
            return
        self.removed += 1
        self._remove_empty_folders(os.path.dirname(each.path))

    def write(self, each: FileDifference, read: "_ObjectReader") -> None:
        try:
            with open_parent(self._place(each.path), make=True) as (folder, name):
                before = _state(folder, name)
                if before and stat.S_ISDIR(before.st_mode) and _remove_empty(folder, name):
                    before = None
                if before and not _is_saved(folder, name, before, each):
                    self.left_out.append((each.path, "unsaved"))
                    return
                fresh = f".sapwood-{secrets.token_hex(8)}"
                try:
                    _create(folder, fresh, each, before, read)
                    os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
                finally:
                    with suppress(FileNotFoundError):
                        os.unlink(fresh, dir_fd=folder)
        except (OSError, ToolError) as error:
            self._leave_out(each, error)
            return
        self.written += 1

    def _leave_out(self, each: FileDifference, error: OSError | ToolError) -> None:
        if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT, EROFS):
            raise error
        self.left_out.append((each.path, "unwritable"))

    def _remove_empty_folders(self, folder: bytes) -> None:
        """Removes folders that are empty now."""
        while folder:
            try:
                with open_parent(self._place(folder)) as (above, name):
                    os.rmdir(name, dir_fd=above)
            except (OSError, ToolError):
                return
            folder = os.path.dirname(folder)

    def _place(self, path: bytes) -> Place:
        given = os.fsdecode(path)
        return Place(self._top, os.path.join(self._top, given), given)


def _create(
    folder: int,
    name: str,
    each: FileDifference,
    before: os.stat_result | None,
    read: "_ObjectReader",
) -> None:
    if each.after == _LINK:
        os.symlink(b"".join(read(each.object)), name, dir_fd=folder)
        return
    bits = 0o777 if each.after == _PROGRAM else 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, bits, dir_fd=folder), "wb") as file:
        with closing(read(each.object)) as pieces:
            file.writelines(pieces)
        if before and stat.S_ISREG(before.st_mode):
            os.fchmod(file.fileno(), _bits(stat.S_IMODE(before.st_mode), each.after == _PROGRAM))


def _is_saved(folder: int, name: str, state: os.stat_result, each: FileDifference) -> bool:
    """Whether the file is as it was saved, so that no later change is lost."""
    if stat.S_ISLNK(state.st_mode):
        content = os.fsencode(os.readlink(name, dir_fd=folder))
    elif stat.S_ISREG(state.st_mode) and each.before:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
            content = file.read()
    else:
        return False
    algorithm = sha1 if len(each.saved) == _SHA1_LENGTH else sha256
    digest = algorithm(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    return digest.encode() == each.saved


def _bits(before: int, program: bool) -> int:
    """The old permissions of a file, with or without execution for all who may read it."""
    return before | (before & 0o444) >> 2 if program else before & ~0o111


def _remove_empty(folder: int, name: str) -> bool:
    """Removes a folder that contains no file; returns whether it was removed."""
    try:
        inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    except NotADirectoryError:
        return False
    try:
        if not all(_remove_empty(inside, each) for each in os.listdir(inside)):
            return False
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=folder)
    return True


def _state(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _differences(raw: bytes) -> list[FileDifference]:
    fields = raw.split(b"\0")
    found: list[FileDifference] = []
    for about, path in zip(fields[0:-1:2], fields[1::2], strict=True):
        before, after, saved, object_, _ = about.removeprefix(b":").split(b" ")
        found.append(FileDifference(path, int(before, 8), int(after, 8), saved, object_))
    return found


def _ignored(repository: Repository, removals: Iterable[FileDifference]) -> set[bytes]:
    # After "./" git takes every name literally.
    paths = b"".join(b"./" + each.path + b"\0" for each in removals)
    if not paths:
        return set()
    options = ("-z", "--stdin", "--no-index")
    found = repository.files().run("check-ignore", *options, stdin=paths, codes=(0, 1))
    return {path.removeprefix(b"./") for path in found.split(b"\0")}


class _ObjectReader:
    """Reads objects by id, in chunks, from one git process."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self._stdin = stdin
        self._stdout = stdout

    def __call__(self, object_: bytes) -> Generator[bytes]:
        self._stdin.write(object_ + b"\n")
        self._stdin.flush()
        head = self._stdout.readline().split()
        if len(head) != 3:
            raise GitError(f"the repository lacks {object_.decode()}")
        left = int(head[2])
        try:
            while left:
                piece = self._stdout.read(min(left, _CHUNK))
                if not piece:
                    raise GitError("git ended early")
                left -= len(piece)
                yield piece
        finally:  # also if the caller stops early, so that the next object starts at its beginning
            self._stdout.read(left + 1)


@contextmanager
def object_reader(repository: Repository) -> Generator[_ObjectReader]:
    """Yields a reader for the objects of the repository."""
    git = repository.files()
    with subprocess.Popen(
        git.command("cat-file", "--batch"),
        cwd=git.folder,
        env=git.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield _ObjectReader(process.stdin, process.stdout)
        finally:
            process.stdin.close()
            process.stdout.close()
            process.wait()
