"""What a checkpoint records beside the content of files, in the message of its commit.

These are the permissions that git does not store, and everything that existed and was not covered.
A revert never deletes or overwrites what was not covered.
"""

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import get_args
from urllib.parse import quote_from_bytes, unquote_to_bytes

from msgspec import Struct

from sapwood.core.checkpoint import Why
from sapwood.workspace.checkpoints.git_command import Git, GitError

FILE, PROGRAM, FOLDER = 0o644, 0o755, 0o755
"""The permissions that are not recorded: git tells files from programs by itself."""

_TITLE = "Sapwood checkpoint with permissions"
_REASONS = frozenset[str](get_args(Why))


class CheckpointRecord(Struct, frozen=True):
    """A checkpoint: the tree of its files, unusual permissions, and what was not covered.

    `modes` has paths of files and, with a slash at the end, of folders; it is None in checkpoints
    of earlier versions, which did not record permissions. So has `not_covered`. Folders that had
    files and no covered one are in `modes` with usual permissions too.
    """

    tree: str
    modes: Mapping[bytes, int] | None
    not_covered: Mapping[bytes, Why]

    def reason_not_covered(self, path: bytes) -> Why | None:
        """Why a path was not covered; None if it was, or did not exist."""
        found = self.not_covered.get(path)
        folder = os.path.dirname(path)
        while found is None and folder:
            found = self.not_covered.get(folder + b"/")
            folder = os.path.dirname(folder)
        return found

    def mode_of(self, path: bytes, default: int) -> int:
        """The permissions of a path, which end in `default` unless others were recorded."""
        return default if self.modes is None else self.modes.get(path, default)


def message_of(modes: Mapping[bytes, int], not_covered: Iterable[tuple[bytes, Why]]) -> bytes:
    """The message of the commit."""
    lines = [f"{mode:o} {quote_from_bytes(path)}" for path, mode in sorted(modes.items())]
    lines += [f"{why} {quote_from_bytes(path)}" for path, why in sorted(not_covered)]
    return "\n".join([_TITLE, "", *lines]).rstrip().encode() + b"\n"


def state_of(tree: str, message: bytes) -> str:
    """A name for the saved state: the same for the same files, permissions and uncovered paths."""
    return sha256(tree.encode() + b"\n" + message).hexdigest()[:40]


def read_record(git: Git, commit: str, prefix: str = "") -> CheckpointRecord:
    """Reads a checkpoint. `prefix` is where the workspace is in checkpoints of earlier versions.

    Raises `GitError` if the checkpoint does not exist.
    """
    head, _, message = git.run("cat-file", "commit", commit).partition(b"\n\n")
    tree = head.split(b"\n", 1)[0].removeprefix(b"tree ").decode()
    lines = message.decode().split("\n")
    modes: dict[bytes, int] = {}
    not_covered: dict[bytes, Why] = {}
    for line in lines[2:]:
        word, _, quoted = line.partition(" ")
        path = unquote_to_bytes(quoted)
        if word.isdigit():
            modes[path] = int(word, 8)
        elif word in _REASONS:
            not_covered[path] = word  # pyright: ignore[reportArgumentType] - it is one of the words
    if lines[0] == _TITLE:
        return CheckpointRecord(tree, modes, not_covered)
    return CheckpointRecord(_below(git, tree, prefix), None, _inside(not_covered, prefix))


def _below(git: Git, tree: str, prefix: str) -> str:
    """The tree of the workspace in the tree of the whole worktree."""
    if not prefix:
        return tree
    try:
        return git.run("rev-parse", "--verify", f"{tree}:{prefix.rstrip('/')}").decode().strip()
    except GitError:
        return git.run("mktree").decode().strip()


def _inside(paths: Mapping[bytes, Why], prefix: str) -> dict[bytes, Why]:
    start = os.fsencode(prefix)
    return {
        path.removeprefix(start): why
        for path, why in paths.items()
        if path.startswith(start) and path != start
    }
