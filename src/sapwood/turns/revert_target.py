"""The target of a revert: what the typed text means, in this conversation or in another one.

Checkpoints belong to the workspace. So a conversation can go back to before a turn of another
conversation in the same folder: of the one that it succeeded, or of the one it was forked from.
"""

import os

from msgspec import Struct, structs

from sapwood.core.checkpoint import Destination
from sapwood.core.events import TurnRecorded, TurnStarted
from sapwood.core.ids import AgentId, Space
from sapwood.core.refusals import NoCheckpoint, Refusal
from sapwood.core.state import State
from sapwood.turns.checkpoints import chain_of
from sapwood.turns.log import Log
from sapwood.turns.open_agent import find_agent, open_state
from sapwood.turns.revert_destinations import FileHistory

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


async def find_target(log: Log, space: Space, state: State, typed: str) -> RevertTarget | Refusal:
    """Finds what was typed: nothing, the number of a turn or a revert, or `AGENT:TURN`."""
    history = FileHistory(await chain_of(log, space, state))
    if not typed:
        last = history.last_change()
        if isinstance(last, Refusal):
            return await _with_other_conversations(log, space, state, last)
        return RevertTarget(last)
    name, _, number = typed.removeprefix("#").rpartition(":")
    if not number.isascii() or not number.isdigit():
        return history.unknown(typed)
    version = int(number[:18])
    if name and name != state.agent:
        return await _of_another(log, space, state, name, version, typed)
    to = history.at(version)
    if to is None and await _is_turn(log, space, state.agent, version):
        to = history.before_turn(version)
    if to is None:
        return history.unknown(typed)
    return to if isinstance(to, Refusal) else RevertTarget(to, typed=typed)


async def _of_another(
    log: Log, space: Space, state: State, name: str, version: int, typed: str
) -> RevertTarget | Refusal:
    found = await find_agent(log, space, name, parent=state.parent)
    if isinstance(found, Refusal):
        return found
    other = await open_state(log, space, found)
    history = FileHistory(await chain_of(log, space, other))
    if _folder(other) != _folder(state) or not await _is_turn(log, space, found, version):
        return history.unknown(typed)
    to = history.before_turn(version)
    if isinstance(to, Refusal):
        return to
    words = f"{to.words} of '{other.name or found}'"
    return RevertTarget(structs.replace(to, context=1, words=words), found, version, typed)


async def _with_other_conversations(
    log: Log, space: Space, state: State, refused: NoCheckpoint
) -> NoCheckpoint:
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
        found += [f"/revert {agent}:{turn}" for turn in turns[:1]]
    if not found:
        return refused
    return NoCheckpoint(
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


async def _is_turn(log: Log, space: Space, agent: AgentId, version: int) -> bool:
    if version < 1:
        return False
    events = await log.read(space, agent, version, version)
    return any(isinstance(each.event, TurnStarted | TurnRecorded) for each in events)


def _folder(state: State) -> str:
    folder = state.workspace.worktree or state.workspace.folder
    return os.path.realpath(os.path.expanduser(folder)) if folder else ""
