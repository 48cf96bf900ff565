"""Revert: saves the present files, restores earlier ones, then moves the context back.

The log records the start of a revert before any file changes. So a revert that was cut off can be
finished or taken back: the log has its destination and the files before it.
"""

import asyncio
import os

from msgspec import Struct, structs

from sapwood.core.checkpoint import Saved, Unsaved
from sapwood.core.command_table import TABLE
from sapwood.core.commands import CommandMeta, FinishRevert, MakeCheckpoint, StartRevert
from sapwood.core.content import Note
from sapwood.core.context import Context, Mark, as_of_turn
from sapwood.core.events import RevertStarted
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary
from sapwood.core.refusals import (
    CheckpointGone,
    FilesInUse,
    NoCheckpoint,
    NotRestored,
    NotSaved,
    OtherBranch,
    Refusal,
    TurnIsOpen,
)
from sapwood.core.state import State
from sapwood.turns.checkpoints import Checkpoints, link_at
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_state, read_live
from sapwood.turns.revert_target import RevertTarget, find_target

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

    async def revert(
        self,
        agent: AgentId,
        typed: str = "",
        *,
        anyway: bool = False,
        why: CommandMeta | None = None,
    ) -> Done | Refusal:
        """Restores files and context: before a turn, before an earlier revert, or, if nothing is
        typed, before the last turn that changed files and was not reverted.

        `anyway` restores files that were saved on another git branch. `why` is the meta data of the
        command that finishes the revert. A revert that has started to
        change files is not stopped by a cancellation: it ends first.
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
        if state.reverting is not None and not typed.strip():
            target = await self._unfinished(state, state.reverting.started)
        else:
            target = await find_target(self._log, self._space, state, typed.strip())
        if isinstance(target, Refusal):
            return target
        work = asyncio.ensure_future(self._restore(state, target, why, anyway=anyway))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait({work})
            raise

    async def finish(self, agent: AgentId) -> Refusal | None:
        """Finishes a revert that was cut off, if there is one. Returns a refusal if that fails."""
        state = (await self._dispatcher.open(agent)).state
        if state.reverting is None:
            return None
        done = await self.revert(agent)
        return done if isinstance(done, Refusal) else None

    async def _unfinished(self, state: State, started: int) -> RevertTarget:
        """The target of a revert that was cut off."""
        link = await link_at(self._log, self._space, state.agent, started)
        assert isinstance(link.event, RevertStarted)
        event = link.event
        if not event.to.files:  # the files were to stay as they were when it started
            return RevertTarget(structs.replace(event.to, files=started), started=started)
        return RevertTarget(event.to, event.of, event.turn, started=started)

    async def _restore(
        self, state: State, target: RevertTarget, why: CommandMeta | None, *, anyway: bool
    ) -> Done | Refusal:
        agent, workspace, to = state.agent, state.workspace, target.to
        files = await self._files(agent, target)
        if files is not None and not await self._checkpoints.holds(workspace, files):
            return CheckpointGone(to.words)
        present = await self._checkpoints.save(workspace, agent)
        if isinstance(present, Unsaved):
            return NotSaved(present.reason)
        if files is None:
            files = present
        if files.branch and present.branch and files.branch != present.branch and not anyway:
            return OtherBranch(to.words, files.branch, present.branch, target.typed)
        place = await self._start(state, target, present)
        if isinstance(place, Refusal):
            return place
        started = (await link_at(self._log, self._space, agent, place)).files
        restored = await self._checkpoints.restore(workspace, present, files, started)
        if isinstance(restored, Unsaved):
            return NotRestored(restored.reason, place)
        there = await self._place(state, target)
        notes = await self._notes_in_view(state, there.context)
        return await self._dispatcher.dispatch(
            FinishRevert(agent, place, there.context, files, restored, notes, there.marks),
            why or command_meta(),
        )

    async def _start(self, state: State, target: RevertTarget, present: Saved) -> int | Refusal:
        """Records the start of the revert, and returns the version of its start.

        A revert that is finished has started already: then only the present files are recorded.
        """
        agent, to = state.agent, target.to
        if state.reverting is not None and target.started == state.reverting.started:
            made = MakeCheckpoint(agent, present)
            refused = await self._dispatcher.dispatch(made, command_meta())
            return refused if isinstance(refused, Refusal) else target.started
        start = StartRevert(agent, present, to, target.of, target.turn)
        done = await self._dispatcher.dispatch(start, command_meta())
        return done if isinstance(done, Refusal) else done.events[-1].version

    async def _files(self, agent: AgentId, target: RevertTarget) -> Saved | None:
        """The files to restore; None if they stay as they are."""
        if not target.to.files:
            return None
        log = AgentId(target.of or agent)
        return (await link_at(self._log, self._space, log, target.to.files)).files

    async def _place(self, state: State, target: RevertTarget) -> "_Place":
        """The context and the marks at the destination."""
        if target.of:
            return _Place(await self._inherited_context(state, target), ())
        then = await open_state(self._log, self._space, state.agent, target.to.context)
        if then.open is None:
            return _Place(then.context, then.marks)
        return _Place(as_of_turn(then.context, state.agent, then.open.first), then.marks)

    async def _inherited_context(self, state: State, target: RevertTarget) -> Context:
        """The context before a turn that a fork inherited.

        If the turn is not in the context that this agent started with, the context is that one.
        """
        start = (await open_state(self._log, self._space, state.agent, 1)).context
        live = await read_live(self._log, self._space, state, context=start)
        for turn in live.turns:
            if (turn.agent, turn.first) == (target.of, target.turn):
                return structs.replace(start, tip=turn.parent, mask=None)
        return start

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
                if each.folder and _overlaps(each.folder, root):
                    return each
            after = page[-1].agent
        return None


class _Place(Struct, frozen=True):
    """A context and the marks that existed then."""

    context: Context
    marks: tuple[Mark, ...]


def _overlaps(folder: str, root: str) -> bool:
    real = os.path.realpath(os.path.expanduser(folder))
    return os.path.commonpath([real, root]) in (real, root)
