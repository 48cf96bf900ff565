"""Restoring: the files that differ between two checkpoints, each put back whole or not at all.

What was not saved is not touched: ignored files, what was too large, repositories inside.
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
from sapwood.workspace.checkpoints.git import GitError
from sapwood.workspace.checkpoints.repository import Repository
from sapwood.workspace.checkpoints.saving import left_out_of, shown
from sapwood.workspace.errors import ToolError
from sapwood.workspace.places import Place, open_parent

__all__ = ["Difference", "holds", "objects_of", "restore"]

_LINK, _PROGRAM = 0o120000, 0o100755
_COPIED = 1 << 20
_SHORT = 40


class Difference(Struct, frozen=True):
    """A path, its modes in either tree, 0 for none, and its objects there."""

    path: bytes
    before: int
    after: int
    saved: bytes
    object: bytes


def holds(repository: Repository, commit: str) -> bool:
    """Whether the repository still has this checkpoint."""
    try:
        repository.files().run("cat-file", "-e", f"{commit}^{{tree}}")
    except GitError:
        return False
    return True


def restore(repository: Repository, present: str, commit: str) -> Restored:
    """Makes files those of `commit`, where `present` is the checkpoint of how they are now.

    Raises `OSError` when the disk has no room: files may be of either then.
    """
    git = repository.files()
    differences = _differences(git.run("diff-tree", "-r", "-z", "--raw", present, commit))
    rules = [each for each in differences if os.path.basename(each.path) == b".gitignore"]
    others = [each for each in differences if os.path.basename(each.path) != b".gitignore"]
    work, left_out = _Work(repository), left_out_of(git, commit)
    with objects_of(repository) as read:
        # Rules come first: what they ignore was not covered then, and is not to be removed now.
        for group in (rules, others):
            going = [each for each in group if not each.after]
            ignored = _ignored(repository, going)
            for each in going:
                if each.path in left_out:
                    work.left.append((each.path, left_out[each.path]))
                elif each.path not in ignored:
                    work.remove(each)
            for each in group:
                if each.after:
                    work.write(each, read)
    left, more = shown(work.left)
    return Restored(work.written, work.removed, left, more)


class _Work:
    """Counts what was done. One file that cannot be changed does not keep the others."""

    def __init__(self, repository: Repository) -> None:
        self._top = repository.top
        self.written = 0
        self.removed = 0
        self.left: list[tuple[bytes, Why]] = []

    def remove(self, each: Difference) -> None:
        try:
            with open_parent(self._place(each.path)) as (folder, name):
                before = _state(folder, name)
                if before is None:
                    return
                if not _is_saved(folder, name, before, each):
                    self.left.append((each.path, "unsaved"))
                    return
                os.unlink(name, dir_fd=folder)
        except (OSError, ToolError) as error:
            self._leave(each, error)
            return
        self.removed += 1
        self._prune(os.path.dirname(each.path))

    def write(self, each: Difference, read: "_Read") -> None:
        try:
            with open_parent(self._place(each.path), make=True) as (folder, name):
                before = _state(folder, name)
                if before and stat.S_ISDIR(before.st_mode) and _remove_empty(folder, name):
                    before = None
                if before and not _is_saved(folder, name, before, each):
                    self.left.append((each.path, "unsaved"))
                    return
                fresh = f".sapwood-{secrets.token_hex(8)}"
                try:
                    _make(folder, fresh, each, before, read)
                    os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
                finally:
                    with suppress(FileNotFoundError):
                        os.unlink(fresh, dir_fd=folder)
        except (OSError, ToolError) as error:
            self._leave(each, error)
            return
        self.written += 1

    def _leave(self, each: Difference, error: OSError | ToolError) -> None:
        if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT, EROFS):
            raise error
        self.left.append((each.path, "unwritable"))

    def _prune(self, folder: bytes) -> None:
        """Takes away folders that the removal left empty."""
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


def _make(
    folder: int, name: str, each: Difference, before: os.stat_result | None, read: "_Read"
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


def _is_saved(folder: int, name: str, state: os.stat_result, each: Difference) -> bool:
    """Whether what is there is what was saved, and not what somebody wrote since."""
    if stat.S_ISLNK(state.st_mode):
        content = os.fsencode(os.readlink(name, dir_fd=folder))
    elif stat.S_ISREG(state.st_mode) and each.before:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
            content = file.read()
    else:
        return False
    made = sha1 if len(each.saved) == _SHORT else sha256
    digest = made(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    return digest.encode() == each.saved


def _bits(before: int, program: bool) -> int:
    """The permissions a file had, with or without that to run it for all who may read it."""
    return before | (before & 0o444) >> 2 if program else before & ~0o111


def _remove_empty(folder: int, name: str) -> bool:
    """Takes a folder away that holds nothing but folders without a file; whether it was one."""
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


def _differences(raw: bytes) -> list[Difference]:
    fields = raw.split(b"\0")
    found: list[Difference] = []
    for about, path in zip(fields[0:-1:2], fields[1::2], strict=True):
        before, after, saved, object_, _ = about.removeprefix(b":").split(b" ")
        found.append(Difference(path, int(before, 8), int(after, 8), saved, object_))
    return found


def _ignored(repository: Repository, going: Iterable[Difference]) -> set[bytes]:
    # Behind "./" a name is a name, whatever it looks like to git.
    paths = b"".join(b"./" + each.path + b"\0" for each in going)
    if not paths:
        return set()
    options = ("-z", "--stdin", "--no-index")
    found = repository.files().run("check-ignore", *options, given=paths, codes=(0, 1))
    return {path.removeprefix(b"./") for path in found.split(b"\0")}


class _Read:
    """Objects by their ids, piece by piece, from one process of git."""

    def __init__(self, asked: IO[bytes], answered: IO[bytes]) -> None:
        self._asked = asked
        self._answered = answered

    def __call__(self, object_: bytes) -> Generator[bytes]:
        self._asked.write(object_ + b"\n")
        self._asked.flush()
        head = self._answered.readline().split()
        if len(head) != 3:
            raise GitError(f"the repository lacks {object_.decode()}")
        left = int(head[2])
        try:
            while left:
                piece = self._answered.read(min(left, _COPIED))
                if not piece:
                    raise GitError("git ended early")
                left -= len(piece)
                yield piece
        finally:  # also of one that nobody wants to the end, so that the next one is read as such
            self._answered.read(left + 1)


@contextmanager
def objects_of(repository: Repository) -> Generator[_Read]:
    """Gives objects of the repository one after the other."""
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
            yield _Read(process.stdin, process.stdout)
        finally:
            process.stdin.close()
            process.stdout.close()
            process.wait()
