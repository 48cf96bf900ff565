"""The checkpoints that the runtime needs, and the chain of them that a log tells of."""

from typing import Protocol

from msgspec import Struct

from sapwood.core.checkpoint import Restored, Saved, Unsaved
from sapwood.core.events import CheckpointMade, CheckpointMissed, ContextReverted, RevertStarted
from sapwood.core.ids import AgentId, Space
from sapwood.core.settings import Workspace
from sapwood.core.state import State
from sapwood.runtime.log import Log

__all__ = ["Checkpoints", "FilesAt", "Link", "chain_of", "link_at"]


class Checkpoints(Protocol):
    """Saves the files of a workspace and restores them. Never raises for what files are like."""

    async def save(self, workspace: Workspace, agent: AgentId) -> Saved | Unsaved:
        """The files as they are now, kept for this agent."""
        ...

    async def holds(self, workspace: Workspace, files: Saved) -> bool | Unsaved:
        """Whether these files can still be restored."""
        ...

    async def restore(
        self, workspace: Workspace, present: Saved, files: Saved
    ) -> Restored | Unsaved:
        """Puts these files in the place of the present ones, which were saved."""
        ...

    async def root(self, workspace: Workspace) -> str | Unsaved:
        """The folder whose files these are."""
        ...


FilesAt = CheckpointMade | RevertStarted | ContextReverted
"""What tells how the files were at its place in the log."""


class Link(Struct, frozen=True):
    """A place in the log at which the files were saved, or should have been."""

    version: int
    at: int
    event: FilesAt | CheckpointMissed

    @property
    def files(self) -> Saved | None:
        """The files of that moment, if they were saved."""
        return None if isinstance(self.event, CheckpointMissed) else self.event.files

    @property
    def changed_in(self) -> int:
        """The turn after which that was, 0 if it was another moment."""
        match self.event:
            case CheckpointMade(turn=turn, moment="after") | CheckpointMissed(turn=turn):
                return turn
            case _:
                return 0


async def chain_of(log: Log, space: Space, state: State, limit: int = 10_000) -> list[Link]:
    """The newest places at which an agent's files were saved or should have been, newest first."""
    version = state.files.version if state.files else 0
    links: list[Link] = []
    while version and len(links) < limit:
        links.append(await link_at(log, space, state.agent, version))
        version = links[-1].event.previous
    return links


async def link_at(log: Log, space: Space, agent: AgentId, version: int) -> Link:
    """The link at a version that a state, a link or a destination names."""
    [recorded] = await log.read(space, agent, version, version)
    assert isinstance(recorded.event, FilesAt | CheckpointMissed)
    return Link(version, recorded.at, recorded.event)
