"""Revert: saves the present files, restores earlier ones, then moves the context back.

The log records the start of a revert before any file changes. So a revert that was cut off can be
finished or taken back: the log has its destination and the files before it.

The target of a revert: what the typed text means, in this conversation or in another one.

Checkpoints belong to the workspace. So a conversation can go back to before a turn of another
conversation in the same folder: of the one that it succeeded, or of the one it was forked from.

The destinations of a revert: the places before the turns that changed files.
"""

import asyncio
import os
from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct, structs

from sapwood.core import refusals
from sapwood.core.checkpoint import Destination, Saved, Unsaved
from sapwood.core.command_table import TABLE
from sapwood.core.commands import CommandMeta, FinishRevert, MakeCheckpoint, StartRevert
from sapwood.core.context import Context, Mark, as_of_turn
from sapwood.core.events import (
    CheckpointMade,
    CheckpointMissed,
    ContextReverted,
    RevertStarted,
)
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.log_values import AgentSummary
from sapwood.core.state import State
from sapwood.turns.checkpoints import Checkpoints, Link, chain_of, link_at
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.context_before_turn import context_before, notes_of_return
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_agent, open_state
from sapwood.turns.turn_lookup import TurnStart, find_start, number_at

_OTHERS = 3
_LOOKED_AT = 20
_FEW = 16


class RevertTarget(Struct, frozen=True):
    """A destination. `of` is another agent, whose turn that starts at `turn` it precedes.

    `typed` is what a person typed. `started` is the version at which a revert to this destination
    started, if it is to be finished.
    """

    to: Destination
    of: str = ""
    turn: int = 0
    typed: str = ""
    started: int = 0


async def find_target(
    log: Log, space: Space, state: State, typed: str
) -> RevertTarget | refusals.Refusal:
    """Finds what was typed: nothing, a turn such as `3` or `NAME/3`, or a revert such as `back`."""
    history = FileHistory(await chain_of(log, space, state))
    if not typed:
        last = history.last_change()
        if isinstance(last, refusals.Refusal):
            return await _with_other_conversations(log, space, state, last)
        return RevertTarget(await _in_words(log, space, state.agent, last))
    if (revert := history.before_revert(typed)) is not None:
        return RevertTarget(revert, typed=typed)
    start = await find_start(log, space, state, typed)
    if isinstance(start, refusals.AmbiguousAgent | refusals.UnknownAgent | refusals.TurnRenumbered):
        return start
    if isinstance(start, refusals.Refusal):
        return await _unknown(log, space, state.agent, history, typed)
    if start.agent != state.agent:
        return await _of_another(log, space, state, start, typed)
    to = history.before_turn(start.first)
    if isinstance(to, refusals.Refusal):
        return to
    return RevertTarget(await _in_words(log, space, state.agent, to), typed=typed)


async def _of_another(
    log: Log, space: Space, state: State, start: TurnStart, typed: str
) -> RevertTarget | refusals.Refusal:
    other = await open_state(log, space, start.agent)
    history = FileHistory(await chain_of(log, space, other))
    if _folder(other) != _folder(state):
        return await _unknown(log, space, start.agent, history, typed)
    to = history.before_turn(start.first)
    if isinstance(to, refusals.Refusal):
        return to
    to = structs.replace(to, context=1, words=f"before turn {start.place}")
    return RevertTarget(to, start.agent, start.first, typed)


async def _in_words(log: Log, space: Space, agent: AgentId, to: Destination) -> Destination:
    """The destination before a turn, with the number of the turn in its words."""
    number = await number_at(log, space, EventRef(agent, to.context + 1))
    return structs.replace(to, words=f"before turn {number}")


async def _unknown(
    log: Log, space: Space, agent: AgentId, history: "FileHistory", typed: str
) -> refusals.NoCheckpoint | refusals.UnknownCheckpoint:
    """The refusal of a text that names no place."""
    if not history.reverts and not history.turns:
        return refusals.NoCheckpoint()
    refs = [EventRef(agent, turn) for turn in history.turns[:_NAMED]]
    turns = tuple([str(await number_at(log, space, ref)) for ref in refs])
    return refusals.UnknownCheckpoint(typed, turns, reverts=bool(history.reverts))


async def _with_other_conversations(
    log: Log, space: Space, state: State, refused: refusals.NoCheckpoint
) -> refusals.NoCheckpoint:
    """The refusal, with the turns of other conversations in this folder that can be reverted."""
    folder = state.workspace.folder
    page = await log.conversations(space, folder, limit=_LOOKED_AT) if folder else []
    agents = [*await _relatives(log, space, state), *(each.agent for each in page)]
    found: list[str] = []
    for agent in dict.fromkeys(agents):
        other = await open_state(log, space, agent)
        if agent == state.agent or other.files is None or _folder(other) != _folder(state):
            continue
        turns = FileHistory(await chain_of(log, space, other, _FEW)).turns
        numbers = [await number_at(log, space, EventRef(agent, turn)) for turn in turns[:1]]
        found += [f"/revert {agent}/{number}" for number in numbers]
    if not found:
        return refused
    return refusals.NoCheckpoint(
        "This conversation did not change any files, but others in this folder did: type "
        f"{' or '.join(found[:_OTHERS])}."
    )


async def _relatives(log: Log, space: Space, state: State) -> list[AgentId]:
    """The other children of the agent's parent, the last changed first, then its ancestors.

    A child that was succeeded is such a child: its successor has the same parent.
    """
    if state.parent is None:
        return []
    family = sorted(await log.family(space, state.agent), key=lambda each: -each.updated)
    siblings = [each.agent for each in family if each.parent == state.parent]
    return [*siblings[:_LOOKED_AT], *await log.ancestors(space, state.agent)]


def _folder(state: State) -> str:
    folder = state.workspace.worktree or state.workspace.folder
    return os.path.realpath(os.path.expanduser(folder)) if folder else ""


_NAMED = 5


class _Change(Struct, frozen=True):
    """A turn that changed files, the link with the files before it, and the change before."""

    turn: int
    before: Link
    earlier: "_Change | None"


class FileHistory:
    """The turns that changed the files of a workspace, from an agent's chain of checkpoints.

    A revert takes turns out of the present line of changes, and a revert of that revert brings
    them back. So a bare revert that is repeated goes further back each time.
    """

    def __init__(self, chain: Sequence[Link]) -> None:
        self._links = list(reversed(chain))
        self._lines: dict[int, _Change | None] = {}
        self._turns: dict[int, Link] = {}
        self._started: list[RevertStarted] = []
        line: _Change | None = None
        previous: Link | None = None
        for link in self._links:
            line = self._after(line, previous, link)
            self._lines[link.version] = line
            previous = link
        self._line = line

    @property
    def turns(self) -> list[int]:
        """The turns that can be reverted, newest first."""
        return [turn for turn, before in reversed(self._turns.items()) if before.files]

    def last_change(self) -> Destination | refusals.NoCheckpoint:
        """The place before the last turn that changed files and was not reverted."""
        if self._line is None:
            return refusals.NoCheckpoint(*self._reasons()[:1])
        return _before(self._line.turn, self._line.before)

    def before_revert(self, typed: str) -> Destination | None:
        """The place before the revert that people call `back`, `back-2` and so on."""
        for number, version in enumerate(self.reverts, 1):
            if typed == revert_name(number):
                which = "the last revert" if number == 1 else f"the revert {typed}"
                return Destination(version, version, f"before {which}")
        return None

    def before_turn(self, turn: int) -> Destination | refusals.NoCheckpoint:
        """The place before a turn.

        The files before a turn that could not change any were not saved: then edits that a person
        made up to the next checkpoint are kept. If there is no later checkpoint, the files of the
        destination are 0: they stay as they are.
        """
        earlier: Link | None = None
        for link in self._links:
            if link.version > turn:
                found = link if _is_before_changes(link, turn, earlier) else earlier
                return _before(turn, found) if found else refusals.NoCheckpoint()
            earlier = link
        if earlier is not None and isinstance(earlier.event, CheckpointMissed):
            return refusals.NoCheckpoint(earlier.event.reason)
        return Destination(0, turn - 1, "")

    @property
    def reverts(self) -> list[int]:
        """The versions at which reverts started, newest first."""
        links = reversed(self._links)
        return [link.version for link in links if isinstance(link.event, RevertStarted)]

    def _reasons(self) -> list[str]:
        """Why there is no place to go back to, newest first."""
        events = [link.event for link in reversed(self._links)]
        missed = [event.reason for event in events if isinstance(event, CheckpointMissed)]
        return missed + [
            f"No earlier turn changed files. To undo the last revert, type /revert {revert_name()}."
            for _ in self.reverts[:1]
        ]

    def _after(self, line: _Change | None, previous: Link | None, link: Link) -> _Change | None:
        """The line of changes after a link."""
        match link.event:
            case ContextReverted(to):
                if self._started and self._started[-1].of:
                    return None  # the files are those of another conversation
                return self._lines.get(to.files) if to.files else line
            case CheckpointMissed(turn=turn, moment="before"):
                before = link
            case CheckpointMissed(turn=turn) | CheckpointMade(turn=turn, moment="after"):
                before = previous
            case RevertStarted():
                self._started.append(link.event)
                return line
            case CheckpointMade():
                return line
            case _:
                assert_never(link.event)
        if not turn or before is None or (line is not None and line.turn == turn):
            return line
        self._turns.setdefault(turn, before)
        return _Change(turn, before, line)


def _before(turn: int, link: Link) -> Destination | refusals.NoCheckpoint:
    if isinstance(link.event, CheckpointMissed):
        return refusals.NoCheckpoint(link.event.reason)
    return Destination(link.version, turn - 1, "")


def _is_before_changes(link: Link, turn: int, earlier: Link | None) -> bool:
    """Whether a link after the start of a turn has the files before that turn changed any.

    While checkpoints are missed, changes are not recorded: then only a checkpoint of the turn
    itself has them.
    """
    if earlier is not None and isinstance(earlier.event, CheckpointMissed):
        return isinstance(link.event, CheckpointMade) and (
            (link.event.turn, link.event.moment) == (turn, "before")
        )
    match link.event:
        case (
            CheckpointMade(turn=other, moment=moment) | CheckpointMissed(turn=other, moment=moment)
        ):
            return moment == "before" or 0 < other < turn
        case RevertStarted():
            return True
        case ContextReverted():
            return False
        case _:
            assert_never(link.event)


def revert_name(number: int = 1) -> str:
    """How people name a revert, to go back to before it: 1 is the last one.

    >>> revert_name(), revert_name(2)
    ('back', 'back-2')
    """
    return "back" if number == 1 else f"back-{number}"


_PAGE = 100


class Reverter:
    """Reverts agents of one space to a checkpoint."""

    def __init__(self, dispatcher: Dispatcher, checkpoints: Checkpoints) -> None:
        self._log, self._space = dispatcher.log, dispatcher.space
        self._dispatcher = dispatcher
        self._checkpoints = checkpoints

    async def revert(
        self,
        agent: AgentId,
        typed: str = "",
        *,
        anyway: bool = False,
        why: CommandMeta | None = None,
    ) -> Done | refusals.Refusal:
        """Restores files and context: before a turn, before an earlier revert, or, if nothing is
        typed, before the last turn that changed files and was not reverted.

        `anyway` restores files that were saved on another git branch. `why` is the meta data of the
        command that finishes the revert. A revert that has started to
        change files is not stopped by a cancellation: it ends first.
        """
        state = (await self._dispatcher.open(agent)).state
        if state.open is not None:
            return refusals.TurnIsOpen(TABLE["revert"].typed)
        root = await self._checkpoints.root(state.workspace)
        if isinstance(root, Unsaved):
            return refusals.NoCheckpoint(root.reason)
        other = await self._working_in(root)
        if other is not None:
            return refusals.FilesInUse(other.agent)
        if state.reverting is not None and not typed.strip():
            target = await self._unfinished(state, state.reverting.started)
        else:
            target = await find_target(self._log, self._space, state, typed.strip())
        if isinstance(target, refusals.Refusal):
            return target
        work = asyncio.ensure_future(self._restore(state, target, why, anyway=anyway))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait({work})
            raise

    async def finish(self, agent: AgentId) -> refusals.Refusal | None:
        """Finishes a revert that was cut off, if there is one. Returns a refusal if that fails."""
        state = (await self._dispatcher.open(agent)).state
        if state.reverting is None:
            return None
        done = await self.revert(agent)
        return done if isinstance(done, refusals.Refusal) else None

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
    ) -> Done | refusals.Refusal:
        agent, workspace, to = state.agent, state.workspace, target.to
        files = await self._files(agent, target)
        if files is not None and not await self._checkpoints.holds(workspace, files):
            return refusals.CheckpointGone(to.words)
        present = await self._checkpoints.save(workspace, agent)
        if isinstance(present, Unsaved):
            return refusals.NotSaved(present.reason)
        if files is None:
            files = present
        if files.branch and present.branch and files.branch != present.branch and not anyway:
            return refusals.OtherBranch(to.words, files.branch, present.branch, target.typed)
        place = await self._start(state, target, present)
        if isinstance(place, refusals.Refusal):
            return place
        started = (await link_at(self._log, self._space, agent, place)).files
        restored = await self._checkpoints.restore(workspace, present, files, started)
        if isinstance(restored, Unsaved):
            return refusals.NotRestored(restored.reason)
        there = await self._place(state, target)
        opened = await self._dispatcher.open(agent)
        version = 0 if target.of else to.context
        notes = await notes_of_return(self._log, self._space, opened, there.context, version)
        return await self._dispatcher.dispatch(
            FinishRevert(
                agent,
                place,
                there.context,
                files,
                restored,
                notes.in_view,
                there.marks,
                notes.left,
            ),
            why or command_meta(),
        )

    async def _start(
        self, state: State, target: RevertTarget, present: Saved
    ) -> int | refusals.Refusal:
        """Records the start of the revert, and returns the version of its start.

        A revert that is finished has started already: then only the present files are recorded.
        """
        agent, to = state.agent, target.to
        if state.reverting is not None and target.started == state.reverting.started:
            made = MakeCheckpoint(agent, present)
            refused = await self._dispatcher.dispatch(made, command_meta())
            return refused if isinstance(refused, refusals.Refusal) else target.started
        start = StartRevert(agent, present, to, target.of, target.turn)
        done = await self._dispatcher.dispatch(start, command_meta())
        return done if isinstance(done, refusals.Refusal) else done.events[-1].version

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
        start = await open_agent(self._log, self._space, state.agent, 1)
        for turn in start.live.turns:
            if (turn.agent, turn.first) == (target.of, target.turn):
                return await context_before(self._log, self._space, start, turn)
        return start.state.context

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
