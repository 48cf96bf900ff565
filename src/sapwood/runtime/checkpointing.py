"""When a turn's files are saved: before the first call that may change any, and at its end."""

from collections.abc import Callable

from sapwood.core.checkpoint import Unsaved
from sapwood.core.commands import MakeCheckpoint, MissCheckpoint
from sapwood.core.content import ToolCall
from sapwood.core.events import Moment
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.runtime.checkpoints import Checkpoints

__all__ = ["TurnFiles"]


class TurnFiles:
    """Saves the files of turns. A turn goes on where they cannot be saved.

    `may_change` says of a call whether it may change files.
    """

    def __init__(
        self, checkpoints: Checkpoints | None, may_change: Callable[[State, ToolCall], bool]
    ) -> None:
        self._checkpoints = checkpoints
        self._may_change = may_change

    async def before(self, state: State, turn: Turn) -> MakeCheckpoint | None:
        """What to record before a call that may change files, if none of the turn did so yet."""
        if self._may_have_changed(state, turn):
            return None
        saved = await self._saved(state, turn, "before")
        return saved if isinstance(saved, MakeCheckpoint) else None

    async def after(self, state: State, turn: Turn) -> MakeCheckpoint | MissCheckpoint | None:
        """What to record at the end of a turn, if it may have changed files."""
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
            return MissCheckpoint(state.agent, saved.reason, turn.first) if saved.failed else None
        return MakeCheckpoint(state.agent, saved, turn.first, moment)

    def _may_have_changed(self, state: State, turn: Turn) -> bool:
        """Whether a call was run, or begun, that may change files."""
        untouched = {call.id for call in turn.open_calls} - turn.started
        return any(
            call.id not in untouched and self._may_change(state, call)
            for call in turn.calls.values()
        )
