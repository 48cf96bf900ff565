"""Deletes the checkpoints of an agent from every store of this machine."""

import os
import shutil
from collections.abc import Iterable

from sapwood.config.folders import checkpoints_folder
from sapwood.core.ids import AgentId
from sapwood.workspace.checkpoints.checkpoint_store import (
    CheckpointStore,
    delete_index,
    locked,
    ref_of,
)
from sapwood.workspace.checkpoints.git_command import Git, GitError


def erase_checkpoints(agent: AgentId, folders: Iterable[str] = ()) -> None:
    """Deletes the checkpoints of an agent, and the files that no other agent has saved.

    `folders` are its workspaces: earlier versions kept checkpoints in their repositories. There
    only the name is deleted; git removes the files when it next collects garbage. Raises `OSError`.
    """
    ref = ref_of(agent)
    for store in _stores():
        with locked(store):
            if _has_ref(store.files(), ref):
                _erase_from_store(store, ref)
    for folder in folders:
        if os.path.isdir(folder) and shutil.which("git"):
            git = Git(folder, {})
            if _has_ref(git, ref):
                git.run("update-ref", "-d", ref)


def _stores() -> list[CheckpointStore]:
    base = str(checkpoints_folder())
    if not os.path.isdir(base) or not shutil.which("git"):
        return []
    stores: list[CheckpointStore] = []
    for name in sorted(os.listdir(base)):
        place = os.path.join(base, name)
        if os.path.exists(os.path.join(place, "config")):
            # The workspace may be gone: the store itself takes its place.
            stores.append(CheckpointStore(_line(place, "workspace"), place, _line(place, "top")))
    return stores


def _line(place: str, name: str) -> str:
    """A folder that the store has written down; the store if that folder is gone."""
    try:
        with open(os.path.join(place, name), "rb") as file:
            folder = os.fsdecode(file.read())
    except OSError:
        return place
    return folder if os.path.isdir(folder) else place


def _has_ref(git: Git, ref: str) -> bool:
    try:
        return bool(git.run("for-each-ref", "--format=%(refname)", ref))
    except GitError:
        return False


def _erase_from_store(store: CheckpointStore, ref: str) -> None:
    git = store.files()
    try:
        git.run("update-ref", "-d", ref)
        delete_index(store)  # it refers to files of the newest checkpoint
        git.run("reflog", "expire", "--expire=now", "--all")
        git.run("repack", "-a", "-d", "--quiet")
        git.run("prune", "--expire=now")
    except GitError as error:
        raise OSError(f"Could not delete the checkpoints in {store.folder}: {error}.") from error
