"""The destination of a revert: finds the place in the log that the typed text means."""

from collections.abc import Sequence
from itertools import pairwise
from typing import assert_never

from sapwood.core.checkpoint import Destination
from sapwood.core.events import (
    CheckpointMade,
    CheckpointMissed,
    ContextReverted,
    RevertStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
    TurnStarted,
)
from sapwood.core.ids import AgentId, Space
from sapwood.core.refusals import NoCheckpoint, Refusal, UnknownCheckpoint
from sapwood.core.state import State
from sapwood.runtime.checkpoints import FilesAt, Link
from sapwood.runtime.log import Log

__all__ = ["find_destination"]

_NAMED = 5
_PAGE = 500


async def find_destination(
    log: Log, space: Space, state: State, chain: Sequence[Link], typed: str
) -> Destination | Refusal:
    """Finds the place that was typed; if nothing was, the place before the last change of files."""
    if not typed:
        return _last_change(state, chain)
    agent, _, number = typed.removeprefix("#").rpartition(":")
    if not number.isascii() or not number.isdigit() or agent not in ("", state.agent):
        return _unknown(typed, chain)
    version = int(number[:18])
    for link in chain:
        if link.version == version and not isinstance(link.event, CheckpointMissed):
            return Destination(version, version, _words(link.event, version))
    end = await _end_of_turn(log, space, state.agent, version)
    if end is None:
        return _unknown(typed, chain)
    for link in chain:
        if link.changed_in == version or link.version <= end or _is_first(link):
            if isinstance(link.event, CheckpointMissed):
                return NoCheckpoint(link.event.reason)
            at = link.version if link.changed_in == version else end
            return Destination(link.version, at, f"after turn {version}")
    return _unknown(typed, chain)


def _last_change(state: State, chain: Sequence[Link]) -> Destination | Refusal:
    if state.reverting is not None:
        return state.reverting.to
    if chain and isinstance(done := chain[0].event, ContextReverted):
        return _before_revert(done, chain[1:])
    for link, before in pairwise(chain):
        if link.changed_in and before.files is not None:
            turn = link.changed_in
            return Destination(before.version, turn - 1, f"before turn {turn}")
    missed = [link.event.reason for link in chain if isinstance(link.event, CheckpointMissed)]
    return NoCheckpoint(*missed[:1])


def _before_revert(done: ContextReverted, earlier: Sequence[Link]) -> Destination:
    """The files before a revert. Skips reverts that were cut off: their files are incomplete."""
    first, to = done.previous, done.to
    for link in earlier:
        if not isinstance(link.event, RevertStarted):
            break
        first, to = link.version, link.event.to
    if done.to.files == first:  # this revert took back the one that was cut off
        return to
    return Destination(first, first, f"before the revert at {first}")


def _is_first(link: Link) -> bool:
    """Whether no earlier turn changed files: then they were the same at the end of each."""
    made = link.event
    return isinstance(made, CheckpointMade) and made.moment == "before" and not made.previous


def _words(event: FilesAt, version: int) -> str:
    match event:
        case CheckpointMade(turn=turn, moment=moment):
            return f"{moment} turn {turn}" if turn else f"at {version}"
        case RevertStarted():
            return f"before the revert at {version}"
        case ContextReverted():
            return f"after the revert at {version}"
        case _:
            assert_never(event)


def _unknown(typed: str, chain: Sequence[Link]) -> Refusal:
    if not chain:
        return NoCheckpoint()
    turns = [str(link.changed_in) for link in chain if link.changed_in and link.files]
    return UnknownCheckpoint(typed, tuple(turns[:_NAMED]))


async def _end_of_turn(log: Log, space: Space, agent: AgentId, first: int) -> int | None:
    """The last version of the turn that starts at `first`, including the other events of the
    command that ended it. None if no ended turn starts there.
    """
    if first < 1:
        return None
    events = await log.read(space, agent, first, limit=_PAGE)
    if not events or not isinstance(events[0].event, TurnStarted | TurnRecorded):
        return None
    end, command = 0, ""
    while events:
        for recorded in events:
            if end and recorded.command != command:
                return end
            ended = isinstance(
                recorded.event, TurnCompleted | TurnInterrupted | TurnFailed | TurnRecorded
            )
            if end or ended:
                end, command = recorded.version, recorded.command
        events = await log.read(space, agent, events[-1].version + 1, limit=_PAGE)
    return end or None
