"""What was in a workspace before its commands ran, to find what they made.

It is written when no other command of the workspace runs, and all that begin until none runs any
more compare with it: what one of them made is new for the others too. It is kept in Sapwood's own
folder, which commands do not see, so that what a crash has left is found later.
"""

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from sapwood.private_files import replace_file
from sapwood.workspace.folder_identity import folder_identity
from sapwood.workspace.git_folder_guards import unusual_in
from sapwood.workspace.nested_repositories import NestedRepositories
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.protected_files import Identity, entry_identity, identity, protected_in
from sapwood.workspace.tool_output import ToolError


class Baseline(Struct, frozen=True):
    """The entries that commands must not replace.

    `folders` are those whose entries are in `protected`. `links` are links whose targets programs
    run or obey, absolute or from the workspace's folder on. `git_folders` are those that commands
    may write, each with the folder where the paths of its index start; `unusual` has the links,
    pipes and sockets in them. `repositories` are the `.git` further down; `is_complete` if all
    folders were searched for them. `large_ignore_files` are those that are too large for git.
    `folder` tells the workspace's folder from a later one at its path, and `git` its `.git`.
    `written` is what tools wrote in protected places since, by its path.
    """

    root: str
    folders: tuple[str, ...]
    protected: dict[str, Identity]
    links: dict[str, Identity]
    git_folders: dict[str, str]
    unusual: dict[str, dict[str, Identity]]
    repositories: tuple[Identity, ...]
    is_complete: bool
    large_ignore_files: tuple[str, ...] = ()
    folder: Identity = ()
    git: Identity = ()
    written: dict[str, Identity] = {}

    def is_of_this_folder(self) -> bool:
        """Whether the folder that has the path now is the one that was looked at."""
        return self.folder == folder_identity(self.root)


def baseline_now(
    root: str,
    guards: PathGuards,
    folders: Sequence[str],
    links: Iterable[str],
    git_folders: Mapping[str, str],
    finder: NestedRepositories,
    nested: Iterable[str],
) -> Baseline:
    """What is there at this moment. `nested` are the repositories below that `finder` found."""
    return Baseline(
        root,
        tuple(folders),
        {path: identity(root, path) for path in protected_in(root, folders, guards)},
        {path: identity(root, path) for path in links},
        dict(git_folders),
        {each: {p: entry_identity(p) for p in unusual_in(each)} for each in git_folders},
        tuple(identity(root, path) for path in nested),
        finder.last is not None and finder.last.is_complete,
        finder.last.large_ignore_files if finder.last is not None else (),
        folder_identity(root),
        folder_identity(os.path.join(root, ".git")),
    )


def joined(before: Baseline, now: Baseline, decided: Collection[str]) -> Baseline:
    """The baseline of commands that run, with the places that it has not looked at.

    `decided` are the git folders that no command can make. Others that are new were made by a
    command that runs, or by a person meanwhile, and stay new.
    """
    added = [each for each in decided if each in now.git_folders]
    return structs.replace(
        before,
        folders=tuple(dict.fromkeys((*before.folders, *now.folders))),
        protected={
            path: known
            for path, known in now.protected.items()
            if os.path.dirname(path) not in before.folders
        }
        | before.protected,
        links=now.links | before.links,
        git_folders={each: now.git_folders[each] for each in added} | before.git_folders,
        unusual={each: now.unusual[each] for each in added} | before.unusual,
    )


def kept_baseline(state: Path) -> Baseline | None:
    """The baseline that is kept, if there is one. Raises `ToolError` if it cannot be read."""
    file = _file(state)
    try:
        return msgspec.convert(json.loads(file.read_bytes()), Baseline)
    except FileNotFoundError:
        return None
    except (ValueError, msgspec.MsgspecError) as error:
        raise ToolError(f"{file} cannot be read ({error}). Tell the user to delete it.") from error


def keep_baseline(state: Path, baseline: Baseline) -> None:
    """Keeps a baseline in place of the earlier one. Raises `OSError`."""
    # Names need not be text, and msgspec does not write those.
    replace_file(_file(state), json.dumps(msgspec.to_builtins(baseline)))


def forget_baseline(state: Path) -> None:
    """Removes the baseline: everything that commands made has been looked at."""
    _file(state).unlink(missing_ok=True)


def _file(state: Path) -> Path:
    return state.with_name(f"{state.name}.baseline")
