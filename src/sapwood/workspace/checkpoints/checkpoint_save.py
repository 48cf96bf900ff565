"""Saves the files of a workspace as a commit in its store.

The index stays from one checkpoint to the next and records the state of every file, so that only
changed files are read again.
"""

import os
import re
import stat
import time
from collections.abc import Collection, Iterable

from msgspec import Struct

from sapwood.core.checkpoint import SHOWN, LeftOut, Saved, Unsaved, Why
from sapwood.workspace.checkpoints.checkpoint_record import (
    FILE,
    PROGRAM,
    Folders,
    large_ignore_files,
    message_of,
    state_of,
    unreadable_folders,
)
from sapwood.workspace.checkpoints.checkpoint_store import (
    CheckpointStore,
    reset_store,
)
from sapwood.workspace.checkpoints.git_command import (
    LARGEST_IGNORE_FILE,
    Git,
    GitError,
    GitTimeout,
)
from sapwood.workspace.tool_output import byte_size

_MAX_NAMED = 4 * SHOWN
_UNCHANGED, _NEW, _IGNORED = b"A ", b"??", b"!!"
"""What `git status` prints: the store has no HEAD, so that every path of its index is added."""
_EMPTY = re.compile(
    rb"(?<=\0)\d+ (?:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391|"
    rb"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813) \d\t([^\0]+)"
)
"""An entry of the index with an empty file, by SHA-1 or SHA-256."""
_MEMORY = {"GIT_ALLOC_LIMIT": "1g"}
"""The most that git allocates at once. It reads an ignore file of any size into memory."""
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


class _Files(Struct):
    """The files of a workspace: unusual permissions, folders with covered files, what is not
    covered, and what the index must learn. `added` has the sizes of what is added.
    """

    modes: dict[bytes, int]
    folders: set[bytes]
    not_covered: dict[bytes, Why]
    added: dict[bytes, int]
    removed: list[bytes]


class _Tip(Struct, frozen=True):
    """The newest checkpoint of an agent."""

    commit: str
    tree: str
    message: bytes


def save(store: CheckpointStore, ref: str, limits: CheckpointLimits) -> Saved | Unsaved:
    """Saves the files as they are. The caller must hold the lock of the store.

    If git cannot use the index, for example after a crash, it is created again; it only saves time.
    """
    try:
        return _save(store, ref, limits)
    except GitTimeout:
        raise
    except GitError:
        if large := large_ignore_files(store.root):
            return Unsaved(
                f"Git reads all of {large[0].decode(errors='replace')}, which has more than "
                f"{byte_size(LARGEST_IGNORE_FILE)}. Delete it or make it smaller."
            )
        reset_store(store)
        return _save(store, ref, limits)


def _save(store: CheckpointStore, ref: str, limits: CheckpointLimits) -> Saved | Unsaved:
    git, folders = store.files(), Folders(os.fsencode(store.root))
    found = _sorted(store, git, folders, limits)
    limit = limits.max_untracked
    if sum(found.added.values()) > limit and (new := _untracked(store, found)) > limit:
        return Unsaved(
            f"There are {byte_size(new)} of new files, which is more than {byte_size(limit)}. Add "
            "files that do not need checkpoints to .gitignore."
        )
    update_index(git, found.added, found.removed)
    tree = _tree(store, git)
    found.modes.update(folders.modes(found.folders, found.not_covered))
    message = message_of(found.modes, found.not_covered.items())
    tip = _tip(git, ref)
    if tip is None or (tip.tree, tip.message) != (tree, message):
        tip = _Tip(_commit(git, ref, tree, tip, message), tree, message)
    named, more = left_out_for_event(found.not_covered.items())
    return Saved(tip.commit, state_of(tree, message), named, more, store.branch)


def left_out_for_event(left: Iterable[tuple[bytes, Why]]) -> tuple[tuple[LeftOut, ...], int]:
    """The first paths that were left out and are not ignored, and the number of the others."""
    every = [LeftOut(path.decode(errors="replace"), why) for path, why in left if why != "ignored"]
    return tuple(every[:_MAX_NAMED]), max(0, len(every) - _MAX_NAMED)


def _sorted(store: CheckpointStore, git: Git, folders: Folders, limits: CheckpointLimits) -> _Files:
    """Looks at every path: in the index, changed since, new, or ignored."""
    if grown := _grown(git, folders, limits):
        update_index(git, (), grown)
    statuses, warnings = _statuses(store, git)
    changed = (path for path in statuses if statuses[path] not in (_UNCHANGED, _NEW, _IGNORED))
    if replaced := [path for path in changed if folders.is_folder(path)]:
        # Git does not list an ignored folder or a repository at a path that the index has as file.
        update_index(git, (), replaced)
        statuses, warnings = _statuses(store, git)
    tracked = store.tracked()
    if hidden := [path for path in tracked if _is_hidden(path, statuses, folders, limits)]:
        update_index(git, hidden, ())
        statuses, warnings = _statuses(store, git)
    for path in tracked:
        if statuses.get(path) == _IGNORED:
            statuses[path] = _NEW
    found = _Files({}, set(), {}, {}, [])
    if b"could not open directory" in warnings:
        found.not_covered.update((path, "unreadable") for path in unreadable_folders(store.root))
    own = _OwnFiles(limits, store.root)
    others = statuses if own else _not_as_usual(found, statuses, folders, limits)
    for path in others:
        status = statuses[path]
        if own and own.contains(path):
            if status not in (_NEW, _IGNORED):
                found.removed.append(path)
        elif status == _IGNORED:
            found.not_covered[path] = "ignored"
        else:
            _sort(found, path, status, folders, limits)
    return found


def _statuses(store: CheckpointStore, git: Git) -> tuple[dict[bytes, bytes], bytes]:
    """Git's status of every path below the root, and its warnings."""
    options = ("--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
    limited = Git(git.folder, git.environment | _MEMORY)
    output, warnings = limited.run_with_warnings("status", *options, "--", ".")
    start = os.fsencode(store.prefix)
    found = {each[3:].removeprefix(start): each[:2] for each in output.split(b"\0") if each}
    return found, warnings


def _grown(git: Git, folders: Folders, limits: CheckpointLimits) -> list[bytes]:
    """The files that are empty in the index and too large now.

    For an empty file, git reads all of the new content to see whether it changed.
    """
    empty = _EMPTY.findall(b"\0" + git.run("ls-files", "--stage", "-z"))
    states = ((path, folders.state(path)) for path in empty)
    return [
        path
        for path, state in states
        if isinstance(state, os.stat_result) and state.st_size > limits.max_file
    ]


def _is_hidden(
    path: bytes, statuses: dict[bytes, bytes], folders: Folders, limits: CheckpointLimits
) -> bool:
    """Whether git does not list this file, because it lists only the ignored folder around it."""
    if path in statuses or not _is_below_ignored(path, statuses):
        return False
    if folders.repository_around(path):
        return False
    state = folders.state(path)
    if not isinstance(state, os.stat_result) or stat.S_IFMT(state.st_mode) not in _COVERED:
        return False
    return _reason_not_to_cover(path, state, folders, limits) is None


def _is_below_ignored(path: bytes, statuses: dict[bytes, bytes]) -> bool:
    folder = os.path.dirname(path)
    while folder:
        if statuses.get(folder + b"/") == _IGNORED:
            return True
        folder = os.path.dirname(folder)
    return False


def _not_as_usual(
    found: _Files, statuses: dict[bytes, bytes], folders: Folders, limits: CheckpointLimits
) -> list[bytes]:
    """Keeps the unchanged files with usual permissions, and returns the other paths.

    Most files are of the first sort, so this loop is short. Files of one folder follow each other.
    """
    others: list[bytes] = []
    root, usual, largest, lstat = folders.root, _USUAL, limits.max_file, os.lstat
    current, is_plain, is_noted = None, False, False
    for path, status in statuses.items():
        if status == _UNCHANGED:
            folder = path.rpartition(b"/")[0]
            if folder != current:
                current, is_plain, is_noted = folder, folders.is_plain(folder), False
            if is_plain:
                try:
                    state = lstat(root + path)
                except OSError:
                    state = None  # it is looked at again below
                if state is not None and state.st_mode in usual and state.st_size <= largest:
                    if not is_noted:
                        found.folders.add(folder)
                        is_noted = True
                    continue
        others.append(path)
    return others


def _sort(
    found: _Files, path: bytes, status: bytes, folders: Folders, limits: CheckpointLimits
) -> None:
    nested = path if path.endswith(b"/") else folders.repository_around(path)
    if nested:
        found.not_covered[nested] = "repository"
        if status != _NEW:
            found.removed.append(path)
        return
    state = folders.state(path)
    why = None if state is None else _reason_not_to_cover(path, state, folders, limits)
    if why is not None:
        found.not_covered[path] = why
    elif isinstance(state, os.stat_result) and stat.S_IFMT(state.st_mode) in _COVERED:
        found.folders.add(os.path.dirname(path))
        if state.st_mode not in _USUAL and stat.S_ISREG(state.st_mode):
            found.modes[path] = stat.S_IMODE(state.st_mode)
        if status != _UNCHANGED:
            found.added[path] = state.st_size
        return
    if status != _NEW:
        found.removed.append(path)


_COVERED = frozenset((stat.S_IFREG, stat.S_IFLNK))
_USUAL = frozenset((stat.S_IFREG | FILE, stat.S_IFREG | PROGRAM))


def _reason_not_to_cover(
    path: bytes, state: os.stat_result | OSError, folders: Folders, limits: CheckpointLimits
) -> Why | None:
    if isinstance(state, OSError):
        return "unreadable"
    if any(part.lower() == b".git" for part in path.split(b"/")):
        return "name"
    if not stat.S_ISREG(state.st_mode):
        return None
    if state.st_size > limits.max_file:
        return "large"
    return None if folders.is_readable(path) else "unreadable"


def _untracked(store: CheckpointStore, found: _Files) -> int:
    """The bytes of new files that the user does not track."""
    tracked = set(store.tracked())
    return sum(size for path, size in found.added.items() if path not in tracked)


def update_index(git: Git, added: Collection[bytes], removed: Collection[bytes]) -> None:
    """Adds files to the index, and removes others from it."""
    if removed:
        options = ("-z", "--force-remove", "--stdin")
        git.run("update-index", *options, stdin=_null_separated(removed))
    if added:
        options = ("-z", "--add", "--remove", "--replace", "--stdin")
        git.run("update-index", *options, stdin=_null_separated(added))


def _tree(store: CheckpointStore, git: Git) -> str:
    if not store.prefix:
        return git.run("write-tree").decode().strip()
    try:
        return git.run("write-tree", f"--prefix={store.prefix}").decode().strip()
    except GitError as error:
        if "not found" not in str(error):
            raise
        return git.run("mktree").decode().strip()  # no file is left


def _tip(git: Git, ref: str) -> _Tip | None:
    form = "%(refname)%00%(objectname)%00%(tree)%00%(contents)"
    found = git.run("for-each-ref", f"--format={form}", ref).removesuffix(b"\n")
    if not found:
        return None
    _, commit, tree, message = found.split(b"\0")
    return _Tip(commit.decode(), tree.decode(), message)


def _commit(git: Git, ref: str, tree: str, tip: _Tip | None, message: bytes) -> str:
    moment = f"{int(time.time())} +0000"
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    writer = Git(git.folder, git.environment | _IDENTITY | dates)
    parents = ("-p", tip.commit) if tip else ()
    commit = writer.run("commit-tree", tree, *parents, stdin=message).decode().strip()
    before = tip.commit if tip else ""
    git.run("update-ref", ref, commit, before or "0" * len(commit))
    return commit


class _OwnFiles:
    """Sapwood's own files in the workspace, which are neither saved nor restored."""

    def __init__(self, limits: CheckpointLimits, root: str) -> None:
        start = os.path.join(root, "")
        paths = [os.fsencode(path[len(start) :]) for path in limits.own if path.startswith(start)]
        self._files = frozenset(paths)
        self._folders = tuple(path for path in paths if path.endswith(b"/"))

    def __bool__(self) -> bool:
        return bool(self._files)

    def contains(self, path: bytes) -> bool:
        return path in self._files or path.startswith(self._folders)


def _null_separated(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)
