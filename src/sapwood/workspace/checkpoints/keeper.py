"""Checkpoints as the runtime wants them: away from the loop, and told in sentences."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sapwood.core.checkpoint import Restored, Saved, Unsaved
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints.git import GitError
from sapwood.workspace.checkpoints.repository import Repository, find_repository, locked
from sapwood.workspace.checkpoints.restoring import holds, restore
from sapwood.workspace.checkpoints.saving import Bounds, save

__all__ = ["GitCheckpoints"]

_Result = TypeVar("_Result")


class GitCheckpoints:
    """Saves and restores the files of whatever workspace it is given."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()

    async def save(self, workspace: Workspace, agent: AgentId) -> Saved | Unsaved:
        """The files as they are now, kept by a ref of this agent's."""
        return await _with(workspace, lambda found: save(found, agent, self._bounds))

    async def holds(self, workspace: Workspace, files: Saved) -> bool | Unsaved:
        """Whether these files can still be restored."""
        return await _with(workspace, lambda found: holds(found, files.commit))

    async def restore(
        self, workspace: Workspace, present: Saved, files: Saved
    ) -> Restored | Unsaved:
        """Puts these files in the place of the present ones."""
        return await _with(workspace, lambda found: restore(found, present.commit, files.commit))

    async def root(self, workspace: Workspace) -> str | Unsaved:
        """The folder that checkpoints of this workspace cover."""
        found = await asyncio.to_thread(find_repository, workspace.worktree or workspace.folder)
        return found if isinstance(found, Unsaved) else found.top


async def _with(workspace: Workspace, work: Callable[[Repository], _Result]) -> _Result | Unsaved:
    return await asyncio.to_thread(_alone, workspace.worktree or workspace.folder, work)


def _alone(folder: str, work: Callable[[Repository], _Result]) -> _Result | Unsaved:
    try:
        found = find_repository(folder)
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
