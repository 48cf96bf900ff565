"""Saving: the whole worktree as a commit, by an index of ours that is kept from one to the next.

The index remembers of every file how it looked, so that only what has changed is read again.
"""

import os
import stat
import time
from collections.abc import Iterable
from urllib.parse import quote_from_bytes, unquote_to_bytes

from msgspec import Struct

from sapwood.core.checkpoint import SHOWN, LeftOut, Saved, Unsaved, Why
from sapwood.core.ids import AgentId
from sapwood.workspace.bounds import size
from sapwood.workspace.checkpoints.git import Git, GitError
from sapwood.workspace.checkpoints.repository import REFS, Repository, forget_index, ref_of, renew

__all__ = ["Bounds", "left_out_of", "save", "shown"]

_TITLE = "Sapwood checkpoint"
_NAMED = 4 * SHOWN
_IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Sapwood"), ("EMAIL", "sapwood@localhost"))
}


class Bounds(Struct, frozen=True):
    """What is covered: files up to so many bytes, untracked ones up to so many together.

    `own` are paths of Sapwood's own files, those of folders with a slash at the end: going back
    must not take the log along.
    """

    largest: int = 10_000_000
    together: int = 1_000_000_000
    own: tuple[str, ...] = ()


class _Sorted(Struct):
    """Paths whose state the index does not have: to take in, to forget, to leave out."""

    taken: list[bytes]
    gone: list[bytes]
    left: list[tuple[bytes, Why]]
    bytes: int = 0


class _Tip(Struct, frozen=True):
    """The newest checkpoint of an agent."""

    commit: str
    tree: str
    message: bytes


def save(repository: Repository, agent: AgentId, bounds: Bounds) -> Saved | Unsaved:
    """The files as they are, in the repository. Whoever calls has the private folder locked.

    An index that git cannot use, after a crash say, is made anew: it only saves time.
    """
    try:
        return _save(repository, agent, bounds)
    except GitError:
        renew(repository)
        return _save(repository, agent, bounds)


def _save(repository: Repository, agent: AgentId, bounds: Bounds) -> Saved | Unsaved:
    tips = _tips(repository)
    anchor = os.path.join(repository.private, "anchor")
    if not _is_held(anchor, tips):
        forget_index(repository)
    git = repository.files()
    found = _sort(repository, _changed(repository, git), bounds)
    if found.bytes > bounds.together and (new := _untracked(repository, found)) > bounds.together:
        return Unsaved(
            f"{size(new)} of files are new, which is more than {size(bounds.together)}. "
            "Name what need not be kept in .gitignore."
        )
    if found.gone:
        git.run("update-index", "-z", "--force-remove", "--stdin", given=_lines(found.gone))
    if found.taken:
        options = ("-z", "--add", "--remove", "--replace", "--stdin")
        git.run("update-index", *options, given=_lines(found.taken))
    tree = git.run("write-tree").decode().strip()
    ref, message = ref_of(agent), _message(found.left)
    tip = tips.get(ref)
    if tip is None or (tip.tree, tip.message) != (tree, message):
        tip = _Tip(_commit(repository, ref, tree, tip, message), tree, message)
    with open(anchor, "w", encoding="utf-8") as file:
        file.write(ref)
    named, more = shown(found.left)
    return Saved(tip.commit, tree, named, more)


def left_out_of(git: Git, commit: str) -> dict[bytes, Why]:
    """The paths that a checkpoint did not cover, though no rule ignored them, and why."""
    _, _, message = git.run("cat-file", "commit", commit).partition(b"\n\n")
    left: dict[bytes, Why] = {}
    for line in message.decode().split("\n")[2:]:
        why, _, path = line.partition(" ")
        if why == "large" or why == "repository" or why == "unreadable":
            left[unquote_to_bytes(path)] = why
    return left


def shown(left: Iterable[tuple[bytes, Why]]) -> tuple[tuple[LeftOut, ...], int]:
    """Some of what was left out, as an event can hold it, and how many more there are."""
    every = [LeftOut(path.decode(errors="replace"), why) for path, why in left]
    return tuple(every[:_NAMED]), max(0, len(every) - _NAMED)


def _tips(repository: Repository) -> dict[str, _Tip]:
    form = "%(refname)%00%(objectname)%00%(tree)%00%(contents)%01"
    found = repository.refs().run("for-each-ref", f"--format={form}", REFS)
    tips: dict[str, _Tip] = {}
    for record in found.split(b"\x01")[:-1]:
        name, commit, tree, message = record.removeprefix(b"\n").split(b"\0")
        tips[name.decode()] = _Tip(commit.decode(), tree.decode(), message)
    return tips


def _is_held(anchor: str, tips: dict[str, _Tip]) -> bool:
    """Whether the ref is still there that keeps what the index refers to from being collected."""
    try:
        with open(anchor, encoding="utf-8") as file:
            return file.read() in tips
    except FileNotFoundError:
        return False


def _changed(repository: Repository, git: Git) -> list[bytes]:
    """Paths that are not as the index has them, and tracked ones that a rule ignores."""
    options = ("-z", "--others", "--modified", "--deleted", "--exclude-standard")
    paths = git.run("ls-files", *options).split(b"\0")
    if os.path.exists(repository.index):
        users = repository.files(repository.index)
        paths += users.run("ls-files", "-z", "-c", "-i", "--exclude-standard").split(b"\0")
    return [path for path in dict.fromkeys(paths) if path]


def _untracked(repository: Repository, found: _Sorted) -> int:
    """How many bytes the user does not track: of the others the repository has most already."""
    tracked = set(repository.files(repository.index).run("ls-files", "-z").split(b"\0"))
    top = os.fsencode(repository.top)
    new = [os.path.join(top, path) for path in found.taken if path not in tracked]
    return sum(os.lstat(path).st_size for path in new if os.path.lexists(path))


def _sort(repository: Repository, paths: Iterable[bytes], bounds: Bounds) -> _Sorted:
    found = _Sorted([], [], [])
    top = os.fsencode(repository.top)
    own, reach = _Own(bounds), _Reach(top)
    for path in paths:
        whole = os.path.join(top, path)
        if own.has(whole):
            continue
        if path.endswith(b"/"):
            found.left.append((path, "repository"))
            continue
        state = reach.state(path)
        if state is None:
            found.gone.append(path)
            continue
        why = _why_not(whole, state, bounds)
        if why is not None:
            found.left.append((path, why))
        if why is not None or not stat.S_ISREG(state.st_mode) | stat.S_ISLNK(state.st_mode):
            found.gone.append(path)
        else:
            found.taken.append(path)
            found.bytes += state.st_size
    return found


class _Reach:
    """What is at a path, if its folders are folders: behind a symlink are the files of others."""

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


class _Own:
    """Sapwood's own files, which are nobody's to save or restore."""

    def __init__(self, bounds: Bounds) -> None:
        paths = [os.fsencode(path) for path in bounds.own]
        self._files = frozenset(paths)
        self._folders = tuple(path for path in paths if path.endswith(b"/"))

    def has(self, path: bytes) -> bool:
        return path in self._files or path.startswith(self._folders)


def _why_not(path: bytes, state: os.stat_result, bounds: Bounds) -> Why | None:
    if not stat.S_ISREG(state.st_mode):
        return None
    if state.st_size > bounds.largest:
        return "large"
    return None if os.access(path, os.R_OK) else "unreadable"


def _commit(repository: Repository, ref: str, tree: str, tip: _Tip | None, message: bytes) -> str:
    git = repository.files()
    moment = f"{int(time.time())} +0000"
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    writer = Git(git.folder, git.environment | _IDENTITY | dates)
    parents = ("-p", tip.commit) if tip else ()
    commit = writer.run("commit-tree", tree, *parents, given=message).decode().strip()
    before = tip.commit if tip else ""
    quiet = ("-c", "core.logAllRefUpdates=false")
    repository.refs().run(*quiet, "update-ref", ref, commit, before or "0" * len(commit))
    return commit


def _message(left: Iterable[tuple[bytes, Why]]) -> bytes:
    lines = [f"{why} {quote_from_bytes(path)}" for path, why in left]
    return "\n".join([_TITLE, "", *lines]).rstrip().encode() + b"\n"


def _lines(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)
