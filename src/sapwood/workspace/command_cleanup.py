"""Undoes what commands in the sandbox made in places that they cannot be kept from writing to.

It compares these places with what was there before. Each step is taken whatever happens in the
others: a command that makes one of them fail must not keep what the others would have found.
"""

import errno
import os
from collections.abc import Iterator, Sequence

from sapwood.workspace.allowed_writes import is_as_written
from sapwood.workspace.checkpoints.git_command import GitError
from sapwood.workspace.command_baseline import Baseline
from sapwood.workspace.folder_identity import folder_identity
from sapwood.workspace.git_folder_guards import remove_unusual, unusual_in
from sapwood.workspace.nested_repositories import (
    TOO_MANY_FOLDERS,
    NestedRepositories,
    linked_repositories,
    runs_nothing,
)
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.protected_files import (
    entry_identity,
    identity,
    protected_in,
    set_aside,
)
from sapwood.workspace.safe_paths import make_accessible


class CommandCleanup:
    """Undoes what commands made since the baseline was written. `finder` finds repositories."""

    def __init__(self, baseline: Baseline, guards: PathGuards, finder: NestedRepositories) -> None:
        self._root = baseline.root
        self._before = baseline
        self._guards = guards
        self._finder = finder
        self._git_folders = baseline.git_folders
        self._known_repositories = set(baseline.repositories)

    def undo(self) -> list[str]:
        """Renames and removes what is new. Returns sentences about that and about failures.

        In another folder than the one that was looked at, all would be new, and nothing is done.
        """
        if not self._before.is_of_this_folder():
            return [
                f"What was made could not be looked at: {_visible(self._root)} is not the folder "
                "that it was before. Tell the user to look at new files before they use git."
            ]
        notes: list[str] = []
        steps = (
            self._git_links,
            self._new_protected,
            self._changed_links,
            self._own_repository,
            self._new_repositories,
        )
        for step in steps:
            try:
                notes.extend(map(_visible, step()))  # keeps those from before a failure
            except Exception as error:
                notes.append(
                    f"Not everything that the command made could be looked at ({error!r}). "
                    "Tell the user to look at new files before they use git."
                )
        return notes

    def _git_links(self) -> Iterator[str]:
        for folder in self._git_folders:
            known = self._before.unusual[folder]
            found = unusual_in(folder)
            yield from remove_unusual({p for p in found if entry_identity(p) != known.get(p)})

    def _new_protected(self) -> Iterator[str]:
        folders = self._before.folders
        for folder in folders:
            make_accessible(os.path.join(self._root, folder).rstrip("/"))
        for path in protected_in(self._root, folders, self._guards):
            is_known = identity(self._root, path) == self._before.protected.get(path)
            if not is_known and not is_as_written(self._root, path, self._before.written):
                yield self._set_aside(path)

    def _changed_links(self) -> Iterator[str]:
        for path, before in self._before.links.items():
            if identity(self._root, path) not in ((), before):
                yield self._set_aside(path)

    def _own_repository(self) -> Iterator[str]:
        """Renames a `.git` of the workspace that was not there.

        What is mounted there ends with its folder, and a command of a workspace around this one can
        remove that.
        """
        own = os.path.join(self._root, ".git")
        if own in self._git_folders or folder_identity(own) in ((), self._before.git):
            return
        if runs_nothing(own):
            yield from remove_unusual(unusual_in(own))
        else:
            yield self._set_aside(".git")

    def _new_repositories(self) -> Iterator[str]:
        found = self._finder.search()
        for path in found.paths:
            whole = os.path.join(self._root, path)
            if not self._is_known(path) and not runs_nothing(whole):
                yield self._set_aside(path)
            elif whole not in self._git_folders:  # it is new, or was moved
                yield from remove_unusual(unusual_in(whole))
        for path in found.large_ignore_files:
            if path not in self._before.large_ignore_files:
                yield self._set_aside(path, "make ignore files that git needs too much memory for")
        if not found.is_complete:
            yield from self._unsearched(found.paths)

    def _unsearched(self, found: Sequence[str]) -> Iterator[str]:
        """Renames new repositories that git enters from one of those that are known."""
        if self._before.is_complete:
            yield f"Not all folders were searched. {TOO_MANY_FOLDERS}"
        known = set(found)
        new = [os.path.join(self._root, path) for path in found]
        indexes = {each: os.path.dirname(each) for each in new if os.path.isdir(each)}
        for git_folder, worktree in {**indexes, **self._git_folders}.items():
            try:
                for path in linked_repositories(self._root, git_folder, worktree):
                    is_known = path in known or self._is_known(path)
                    if not is_known and _may_exist(os.path.join(self._root, path)):
                        yield self._set_aside(path)
            except GitError as error:
                yield (
                    f"The index of {git_folder} could not be read ({error}), so repositories in it "
                    "were not looked for. Tell the user before they use git."
                )

    def _is_known(self, path: str) -> bool:
        return identity(self._root, path) in self._known_repositories

    def _set_aside(self, path: str, must_not: str = "make protected files") -> str:
        try:
            old, new = set_aside(self._root, path)
        except OSError as error:
            return (
                f"Could not rename {path} ({error.strerror}), which commands in the sandbox may "
                "not make. Tell the user to look at it before they use it."
            )
        return f"Renamed {old} to {new}: commands in the sandbox may not {must_not}."


def _may_exist(path: str) -> bool:
    """Whether something is there, or the path is too long to know: git may reach it from nearer."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return True


def _visible(note: str) -> str:
    """The note without characters of names that would break its line or cannot be stored."""
    return "".join(each if each.isprintable() else "?" for each in note)
