"""Checkpoints: the interface to saved files, the chain of them in a log, and when turns save.

`sapwood.workspace` provides `Checkpoints`. Each event about files names the one before it, so the
newest leads back to all others.
"""

from collections.abc import Callable
from typing import Protocol, assert_never

from msgspec import Struct

from sapwood.core.checkpoint import Restored, Saved, Unsaved
from sapwood.core.commands import MakeCheckpoint, MissCheckpoint
from sapwood.core.content import ToolCall
from sapwood.core.events import (
    CheckpointMade,
    CheckpointMissed,
    ContextReverted,
    Moment,
    RevertStarted,
)
from sapwood.core.ids import AgentId, Space
from sapwood.core.settings import Workspace
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.turns.log import Log


class Checkpoints(Protocol):
    """Saves and restores the files of a workspace. Returns `Unsaved` if that is not possible."""

    async def save(self, workspace: Workspace, agent: AgentId) -> Saved | Unsaved:
        """Saves the present files for this agent."""
        ...

    async def holds(self, workspace: Workspace, files: Saved) -> bool | Unsaved:
        """Whether these files can still be restored."""
        ...

    async def restore(
        self, workspace: Workspace, present: Saved, files: Saved, started: Saved | None = None
    ) -> Restored | Unsaved:
        """Replaces the present files, which were saved, by these files.

        `started` are the files before a revert that is finished now. What they did not cover stays,
        because only they are restored if the revert is taken back.
        """
        ...

    async def root(self, workspace: Workspace) -> str | Unsaved:
        """The folder whose files are saved."""
        ...


FilesAt = CheckpointMade | RevertStarted | ContextReverted
"""The events that hold the files at their place in the log."""


class Link(Struct, frozen=True):
    """A place in the log at which the files were saved, or should have been."""

    version: int
    at: int
    event: FilesAt | CheckpointMissed

    @property
    def files(self) -> Saved | None:
        """The files at that place, if they were saved."""
        return None if isinstance(self.event, CheckpointMissed) else self.event.files

    @property
    def changed_in(self) -> int:
        """The turn that ended just before this checkpoint; 0 if it was made at another moment."""
        match self.event:
            case CheckpointMade(turn=turn, moment="after") | CheckpointMissed(turn=turn):
                return turn
            case CheckpointMade() | RevertStarted() | ContextReverted():
                return 0
            case _:
                assert_never(self.event)


async def chain_of(log: Log, space: Space, state: State, limit: int = 10_000) -> list[Link]:
    """The newest places at which an agent's files were saved or should have been, newest first."""
    version = state.files.version if state.files else 0
    links: list[Link] = []
    while version and len(links) < limit:
        links.append(await link_at(log, space, state.agent, version))
        version = links[-1].event.previous
    return links


async def link_at(log: Log, space: Space, agent: AgentId, version: int) -> Link:
    """The link at a version. A state, another link or a destination names such versions."""
    [recorded] = await log.read(space, agent, version, version)
    assert isinstance(recorded.event, FilesAt | CheckpointMissed)
    return Link(version, recorded.at, recorded.event)


class TurnFiles:
    """Saves the files before the first call of a turn that may change them, and after the turn.

    A turn continues if they cannot be saved. `may_change` returns whether a call may change files.
    """

    def __init__(
        self, checkpoints: Checkpoints | None, may_change: Callable[[State, ToolCall], bool]
    ) -> None:
        self._checkpoints = checkpoints
        self._may_change = may_change

    async def before(self, state: State, turn: Turn) -> MakeCheckpoint | MissCheckpoint | None:
        """Saves the files before the first call of the turn that may change them.

        Returns the command to dispatch, or None if there is nothing to record.
        """
        if self._may_have_changed(state, turn):
            return None
        return await self._saved(state, turn, "before")

    async def before_program(
        self, state: State, turn: Turn
    ) -> MakeCheckpoint | MissCheckpoint | None:
        """Saves the files before a program gets the prompt: it may change them without a question.

        Returns the command to dispatch, or None if there is nothing to record.
        """
        return await self._saved(state, turn, "before")

    async def after(self, state: State, turn: Turn) -> MakeCheckpoint | MissCheckpoint | None:
        """Saves the files after a turn that may have changed them. Returns the command for it."""
        if not self._may_have_changed(state, turn):
            return None
        return await self._saved(state, turn, "after")

    async def _saved(
        self, state: State, turn: Turn, moment: Moment
    ) -> MakeCheckpoint | MissCheckpoint | None:
        if self._checkpoints is None:
            return None
        saved = await self._checkpoints.save(state.workspace, state.agent)
        if isinstance(saved, Unsaved):
            missed = MissCheckpoint(state.agent, saved.reason, turn.first, moment)
            return missed if saved.failed else None
        return MakeCheckpoint(state.agent, saved, turn.first, moment)

    def _may_have_changed(self, state: State, turn: Turn) -> bool:
        """Whether a call that may change files was started."""
        untouched = {call.id for call in turn.open_calls} - turn.started
        return any(
            call.id not in untouched and self._may_change(state, call)
            for call in turn.calls.values()
        )
