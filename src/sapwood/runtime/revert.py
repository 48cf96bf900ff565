"""Revert: saves the present files, restores earlier ones, then moves the context back.

The log records the start of a revert before any file changes. So a revert that was cut off can be
finished or taken back: the log has its destination and the files before it.
"""

import os

from sapwood.core.checkpoint import Destination, Saved, Unsaved
from sapwood.core.command_table import TABLE
from sapwood.core.commands import FinishRevert, StartRevert
from sapwood.core.content import Note
from sapwood.core.context import Context, as_of_turn
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary
from sapwood.core.refusals import (
    CheckpointGone,
    FilesInUse,
    NoCheckpoint,
    NotRestored,
    NotSaved,
    Refusal,
    TurnIsOpen,
)
from sapwood.core.state import State
from sapwood.runtime.checkpoints import Checkpoints, chain_of, link_at
from sapwood.runtime.clock_and_ids import command_meta
from sapwood.runtime.dispatch import Dispatcher, Done
from sapwood.runtime.log import Log
from sapwood.runtime.open_agent import open_state, read_live
from sapwood.runtime.revert_destinations import find_destination

__all__ = ["Reverter"]

_FEW = 16
"""How many checkpoints are read first: the wanted one is nearly always among them."""

_PAGE = 100


class Reverter:
    """Reverts agents of one space to a checkpoint."""

    def __init__(
        self, log: Log, space: Space, dispatcher: Dispatcher, checkpoints: Checkpoints
    ) -> None:
        self._log = log
        self._space = space
        self._dispatcher = dispatcher
        self._checkpoints = checkpoints

    async def revert(self, agent: AgentId, typed: str = "") -> Done | Refusal:
        """Restores files and context: of the end of a turn, of a checkpoint, or, if nothing is
        typed, of the moment before the last change of files.
        """
        state = (await self._dispatcher.open(agent)).state
        if state.open is not None:
            return TurnIsOpen(TABLE["revert"].typed)
        root = await self._checkpoints.root(state.workspace)
        if isinstance(root, Unsaved):
            return NoCheckpoint(root.reason)
        other = await self._working_in(root)
        if other is not None:
            return FilesInUse(other.agent)
        chain = await chain_of(self._log, self._space, state, _FEW)
        to = await find_destination(self._log, self._space, state, chain, typed.strip())
        if isinstance(to, Refusal) and len(chain) == _FEW:
            chain = await chain_of(self._log, self._space, state)
            to = await find_destination(self._log, self._space, state, chain, typed.strip())
        if isinstance(to, Refusal):
            return to
        files = (await link_at(self._log, self._space, agent, to.files)).files
        return await self._restore(state, to, files) if files else NoCheckpoint()

    async def _restore(self, state: State, to: Destination, files: Saved) -> Done | Refusal:
        agent, workspace = state.agent, state.workspace
        if not await self._checkpoints.holds(workspace, files):
            return CheckpointGone(to.words)
        present = await self._checkpoints.save(workspace, agent)
        if isinstance(present, Unsaved):
            return NotSaved(present.reason)
        started = await self._dispatcher.dispatch(StartRevert(agent, present, to), command_meta())
        if isinstance(started, Refusal):
            return started
        place = started.events[-1].version
        restored = await self._checkpoints.restore(workspace, present, files)
        if isinstance(restored, Unsaved):
            return NotRestored(restored.reason, place)
        context = await self._context_at(agent, to.context)
        notes = await self._notes_in_view(state, context)
        return await self._dispatcher.dispatch(
            FinishRevert(agent, place, context, files, restored, notes), command_meta()
        )

    async def _context_at(self, agent: AgentId, version: int) -> Context:
        """The context at an earlier version, without a turn that was open then."""
        state = await open_state(self._log, self._space, agent, version)
        if state.open is None:
            return state.context
        return as_of_turn(state.context, agent, state.open.first)

    async def _notes_in_view(self, state: State, context: Context) -> tuple[Note, ...]:
        """The waiting notes that are in the prompt of a turn that comes into view again."""
        if not state.notes:
            return ()
        live = await read_live(self._log, self._space, state, context=context)
        prompts = [part for turn in live.turns for part in turn.prompt]
        return tuple(note for note in state.notes if note in prompts)

    async def _working_in(self, root: str) -> AgentSummary | None:
        """An agent with an open turn that may change the same files."""
        after: AgentId | None = None
        while page := await self._log.working(self._space, after=after, limit=_PAGE):
            for each in page:
                if each.folder and _is_inside(each.folder, root):
                    return each
            after = page[-1].agent
        return None


def _is_inside(folder: str, root: str) -> bool:
    real = os.path.realpath(os.path.expanduser(folder))
    return os.path.commonpath([real, root]) == root
