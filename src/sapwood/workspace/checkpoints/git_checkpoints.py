"""`GitCheckpoints`: checkpoints for the runtime, made in threads, with failures as messages."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sapwood.core.checkpoint import Restored, Saved, Unsaved
from sapwood.core.ids import AgentId, Space
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints.checkpoint_restore import has_checkpoint, restore
from sapwood.workspace.checkpoints.checkpoint_save import CheckpointLimits, save
from sapwood.workspace.checkpoints.checkpoint_store import (
    CheckpointStore,
    find_store,
    locked,
    ref_of,
)
from sapwood.workspace.checkpoints.git_command import GitError

_Result = TypeVar("_Result")
_LOCAL = Space("local")


class GitCheckpoints:
    """Saves and restores the files of workspaces."""

    def __init__(self, limits: CheckpointLimits | None = None, space: Space = _LOCAL) -> None:
        self._limits = limits or CheckpointLimits()
        self._space = space

    async def save(self, workspace: Workspace, agent: AgentId) -> Saved | Unsaved:
        """Saves the files as they are now, in the ref of this agent of the space."""
        ref = ref_of(agent, self._space)
        return await _in_thread(workspace, lambda store: save(store, ref, self._limits))

    async def holds(self, workspace: Workspace, files: Saved) -> bool | Unsaved:
        """Whether this checkpoint still exists and can be restored."""
        return await _in_thread(workspace, lambda store: has_checkpoint(store, files.commit))

    async def restore(
        self, workspace: Workspace, present: Saved, files: Saved, started: Saved | None = None
    ) -> Restored | Unsaved:
        """Replaces the present files by those of a checkpoint; `present` is the newest one.

        `started` is the checkpoint at the start of a revert that is finished now.
        """
        start = started.commit if started else ""
        return await _in_thread(
            workspace, lambda store: restore(store, present.commit, files.commit, start)
        )

    async def root(self, workspace: Workspace) -> str | Unsaved:
        """The folder that the checkpoints of this workspace cover: the workspace itself."""
        found = await asyncio.to_thread(find_store, workspace.worktree or workspace.folder)
        return found if isinstance(found, Unsaved) else found.root


async def _in_thread(
    workspace: Workspace, work: Callable[[CheckpointStore], _Result]
) -> _Result | Unsaved:
    return await asyncio.to_thread(_with_lock, workspace.worktree or workspace.folder, work)


def _with_lock(folder: str, work: Callable[[CheckpointStore], _Result]) -> _Result | Unsaved:
    try:
        found = find_store(folder)
        if isinstance(found, Unsaved):
            return found
        with locked(found):
            return work(found)
    except GitError as error:
        return Unsaved(f"Git failed: {error}.")
    except OSError as error:
        return Unsaved(
            f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}."
        )
    except (
        Exception
    ) as error:  # whatever files are there, a revert and the next prompt get an answer
        return Unsaved(f"An unexpected error: {error!r}.")
