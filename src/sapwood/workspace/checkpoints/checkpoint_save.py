"""Saves the whole worktree as a commit, with an index of Sapwood's own.

The index stays from one checkpoint to the next and records the state of every file, so that only
changed files are read again.
"""

import os
import stat
import time
from collections.abc import Iterable
from urllib.parse import quote_from_bytes, unquote_to_bytes

from msgspec import Struct

from sapwood.core.checkpoint import SHOWN, LeftOut, Saved, Unsaved, Why
from sapwood.core.ids import AgentId
from sapwood.workspace.checkpoints.git_command import Git, GitError
from sapwood.workspace.checkpoints.repository import (
    REFS,
    Repository,
    delete_index,
    ref_of,
    reset_private_folder,
)
from sapwood.workspace.tool_output import byte_size

__all__ = ["CheckpointLimits", "left_out_for_event", "left_out_paths", "save"]

_TITLE = "Sapwood checkpoint"
_MAX_NAMED = 4 * SHOWN
_IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Sapwood"), ("EMAIL", "sapwood@localhost"))
}


class CheckpointLimits(Struct, frozen=True):
    """What a checkpoint covers: the size of one file, and of all untracked files together.

    `own` are paths of Sapwood's own files and folders, folders with a slash at the end. They are
    left out, because restoring a checkpoint must not restore the log.
    """

    max_file: int = 10_000_000
    max_untracked: int = 1_000_000_000
    own: tuple[str, ...] = ()


class _ChangedPaths(Struct):
    """Paths that differ from the index: to add, to remove, and to leave out of the checkpoint."""

    added: list[bytes]
    removed: list[bytes]
    left_out: list[tuple[bytes, Why]]
    bytes: int = 0


class _Tip(Struct, frozen=True):
    """The newest checkpoint of an agent."""

    commit: str
    tree: str
    message: bytes


def save(repository: Repository, agent: AgentId, limits: CheckpointLimits) -> Saved | Unsaved:
    """Saves the files as they are. The caller must hold the lock of the private folder.

    If git cannot use the index, for example after a crash, it is created again; it only saves time.
    """
    try:
        return _save(repository, agent, limits)
    except GitError:
        reset_private_folder(repository)
        return _save(repository, agent, limits)


def _save(repository: Repository, agent: AgentId, limits: CheckpointLimits) -> Saved | Unsaved:
    tips = _tips(repository)
    anchor = os.path.join(repository.private, "anchor")
    if not _ref_exists(anchor, tips):
        delete_index(repository)
    git = repository.files()
    found = _sort_paths(repository, _changed(repository, git), limits)
    most = limits.max_untracked
    if found.bytes > most and (new := _untracked(repository, found)) > most:
        return Unsaved(
            f"{byte_size(new)} of files are new, which is more than {byte_size(most)}. "
            "Add files that need no checkpoint to .gitignore."
        )
    if found.removed:
        options = ("-z", "--force-remove", "--stdin")
        git.run("update-index", *options, stdin=_null_separated(found.removed))
    if found.added:
        options = ("-z", "--add", "--remove", "--replace", "--stdin")
        git.run("update-index", *options, stdin=_null_separated(found.added))
    tree = git.run("write-tree").decode().strip()
    ref, message = ref_of(agent), _message(found.left_out)
    tip = tips.get(ref)
    if tip is None or (tip.tree, tip.message) != (tree, message):
        tip = _Tip(_commit(repository, ref, tree, tip, message), tree, message)
    with open(anchor, "w", encoding="utf-8") as file:
        file.write(ref)
    named, more = left_out_for_event(found.left_out)
    return Saved(tip.commit, tree, named, more)


def left_out_paths(git: Git, commit: str) -> dict[bytes, Why]:
    """The paths that a checkpoint left out although no rule ignores them, and why."""
    _, _, message = git.run("cat-file", "commit", commit).partition(b"\n\n")
    left: dict[bytes, Why] = {}
    for line in message.decode().split("\n")[2:]:
        why, _, path = line.partition(" ")
        if why == "large" or why == "repository" or why == "unreadable":
            left[unquote_to_bytes(path)] = why
    return left


def left_out_for_event(left: Iterable[tuple[bytes, Why]]) -> tuple[tuple[LeftOut, ...], int]:
    """The first paths that were left out, for an event, and the number of the others."""
    every = [LeftOut(path.decode(errors="replace"), why) for path, why in left]
    return tuple(every[:_MAX_NAMED]), max(0, len(every) - _MAX_NAMED)


def _tips(repository: Repository) -> dict[str, _Tip]:
    form = "%(refname)%00%(objectname)%00%(tree)%00%(contents)%01"
    found = repository.refs().run("for-each-ref", f"--format={form}", REFS)
    tips: dict[str, _Tip] = {}
    for record in found.split(b"\x01")[:-1]:
        name, commit, tree, message = record.removeprefix(b"\n").split(b"\0")
        tips[name.decode()] = _Tip(commit.decode(), tree.decode(), message)
    return tips


def _ref_exists(anchor: str, tips: dict[str, _Tip]) -> bool:
    """Whether the ref exists that protects the objects of the index from garbage collection."""
    try:
        with open(anchor, encoding="utf-8") as file:
            return file.read() in tips
    except FileNotFoundError:
        return False


def _changed(repository: Repository, git: Git) -> list[bytes]:
    """Paths that differ from the index, and tracked paths that a rule ignores."""
    options = ("-z", "--others", "--modified", "--deleted", "--exclude-standard")
    paths = git.run("ls-files", *options).split(b"\0")
    if os.path.exists(repository.index):
        users = repository.files(repository.index)
        paths += users.run("ls-files", "-z", "-c", "-i", "--exclude-standard").split(b"\0")
    return [path for path in dict.fromkeys(paths) if path]


def _untracked(repository: Repository, found: _ChangedPaths) -> int:
    """The bytes of new files that the user does not track; git stores the others already."""
    tracked = set(repository.files(repository.index).run("ls-files", "-z").split(b"\0"))
    top = os.fsencode(repository.top)
    new = [os.path.join(top, path) for path in found.added if path not in tracked]
    return sum(os.lstat(path).st_size for path in new if os.path.lexists(path))


def _sort_paths(
    repository: Repository, paths: Iterable[bytes], limits: CheckpointLimits
) -> _ChangedPaths:
    found = _ChangedPaths([], [], [])
    top = os.fsencode(repository.top)
    own, folders = _OwnFiles(limits), _RealFolders(top)
    for path in paths:
        whole = os.path.join(top, path)
        if own.contains(whole):
            continue
        if path.endswith(b"/"):
            found.left_out.append((path, "repository"))
            continue
        state = folders.state(path)
        if state is None:
            found.removed.append(path)
            continue
        why = _reason_to_leave_out(whole, state, limits)
        if why is not None:
            found.left_out.append((path, why))
        if why is not None or not stat.S_ISREG(state.st_mode) | stat.S_ISLNK(state.st_mode):
            found.removed.append(path)
        else:
            found.added.append(path)
            found.bytes += state.st_size
    return found


class _RealFolders:
    """Looks at paths whose folders are real folders; behind a symlink are files of others."""

    def __init__(self, top: bytes) -> None:
        self._top = top
        self._folders = {b"": True}

    def state(self, path: bytes) -> os.stat_result | None:
        if not self._is_folder(os.path.dirname(path)):
            return None
        return self._lstat(path)

    def _is_folder(self, path: bytes) -> bool:
        known = self._folders.get(path)
        if known is None:
            state = self._lstat(path) if self._is_folder(os.path.dirname(path)) else None
            known = self._folders[path] = state is not None and stat.S_ISDIR(state.st_mode)
        return known

    def _lstat(self, path: bytes) -> os.stat_result | None:
        try:
            return os.lstat(os.path.join(self._top, path))
        except OSError:
            return None


class _OwnFiles:
    """Sapwood's own files, which are neither saved nor restored."""

    def __init__(self, limits: CheckpointLimits) -> None:
        paths = [os.fsencode(path) for path in limits.own]
        self._files = frozenset(paths)
        self._folders = tuple(path for path in paths if path.endswith(b"/"))

    def contains(self, path: bytes) -> bool:
        return path in self._files or path.startswith(self._folders)


def _reason_to_leave_out(
    path: bytes, state: os.stat_result, limits: CheckpointLimits
) -> Why | None:
    if not stat.S_ISREG(state.st_mode):
        return None
    if state.st_size > limits.max_file:
        return "large"
    return None if os.access(path, os.R_OK) else "unreadable"


def _commit(repository: Repository, ref: str, tree: str, tip: _Tip | None, message: bytes) -> str:
    git = repository.files()
    moment = f"{int(time.time())} +0000"
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    writer = Git(git.folder, git.environment | _IDENTITY | dates)
    parents = ("-p", tip.commit) if tip else ()
    commit = writer.run("commit-tree", tree, *parents, stdin=message).decode().strip()
    before = tip.commit if tip else ""
    quiet = ("-c", "core.logAllRefUpdates=false")
    repository.refs().run(*quiet, "update-ref", ref, commit, before or "0" * len(commit))
    return commit


def _message(left: Iterable[tuple[bytes, Why]]) -> bytes:
    lines = [f"{why} {quote_from_bytes(path)}" for path, why in left]
    return "\n".join([_TITLE, "", *lines]).rstrip().encode() + b"\n"


def _null_separated(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)
