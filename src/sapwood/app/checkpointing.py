"""Checkpoints wired: which files are Sapwood's own, who saves the others, and who goes back."""

import os

from sapwood.app.config import CheckpointConfig, Config
from sapwood.app.connection import Connection
from sapwood.app.findings import Finding
from sapwood.app.folders import data_folder
from sapwood.app.opening import is_postgres
from sapwood.core.checkpoint import Unsaved
from sapwood.core.commands import MakeCheckpoint
from sapwood.core.events import RevertStarted
from sapwood.core.ids import AgentId
from sapwood.core.refusals import NotSaved, Refusal
from sapwood.core.searching import text_of
from sapwood.core.settings import Workspace
from sapwood.core.state import State
from sapwood.display.text import one_line
from sapwood.runtime.checkpoints import Checkpoints, chain_of
from sapwood.runtime.dispatch import Done
from sapwood.runtime.fresh import given
from sapwood.runtime.reverting import Reverter

__all__ = [
    "checkpoint",
    "checkpoints_for",
    "examine_checkpoints",
    "revert",
    "turns_to_revert_to",
]

_BESIDE = ("", "-wal", "-shm", "-journal")


def checkpoints_for(connection: Connection, config: Config) -> Checkpoints | None:
    """Where files are saved, unless that is switched off."""
    return _keeper(connection, config.checkpoints) if config.checkpoints.enabled else None


async def revert(
    connection: Connection, config: Config, agent: AgentId, typed: str = ""
) -> Done | Refusal:
    """Takes files and context back, though checkpoints may be switched off by now."""
    held, keeper = connection, _keeper(connection, config.checkpoints)
    return await Reverter(held.log, held.space, held.dispatcher, keeper).revert(agent, typed)


async def checkpoint(connection: Connection, config: Config, agent: AgentId) -> Done | Refusal:
    """Saves the files now: as those before the open turn, or after the last one."""
    state = (await connection.dispatcher.open(agent)).state
    saved = await _keeper(connection, config.checkpoints).save(state.workspace, agent)
    if isinstance(saved, Unsaved):
        return NotSaved(saved.reason)
    tip = state.context.tip
    if state.open is not None:
        command = MakeCheckpoint(agent, saved, state.open.first, "before")
    else:
        turn = tip.first if tip is not None and tip.agent == agent else 0
        command = MakeCheckpoint(agent, saved, turn)
    return await connection.dispatcher.dispatch(command, given())


async def examine_checkpoints(config: Config) -> Finding:
    """Whether what agents do to the files of this folder can be taken back."""
    if not config.checkpoints.enabled:
        then = "sapwood config unset checkpoints.enabled"
        return Finding("checkpoints", "open", "switched off", then)
    from sapwood.workspace.checkpoints.keeper import GitCheckpoints

    root = await GitCheckpoints().root(Workspace(os.getcwd()))
    if isinstance(root, Unsaved):
        return Finding("checkpoints", "open", root.reason)
    return Finding("checkpoints", "ok", f"of {root}")


async def turns_to_revert_to(
    connection: Connection, state: State, limit: int = 8
) -> tuple[tuple[str, str], ...]:
    """What can be typed after /revert, newest first, and a few words on each."""
    held = connection
    found: list[tuple[str, str]] = []
    for link in await chain_of(held.log, held.space, state, limit):
        if link.changed_in and link.files:
            [started] = await held.log.read(
                held.space, state.agent, link.changed_in, link.changed_in
            )
            found.append((str(link.changed_in), one_line(text_of(started.event))))
        elif isinstance(link.event, RevertStarted):
            found.append((str(link.version), "before a revert"))
    return tuple(found)


def _keeper(connection: Connection, config: CheckpointConfig) -> Checkpoints:
    from sapwood.workspace.checkpoints.keeper import GitCheckpoints
    from sapwood.workspace.checkpoints.saving import Bounds

    return GitCheckpoints(Bounds(config.largest, own=_own(connection.address)))


def _own(address: str) -> tuple[str, ...]:
    """What must not go back in time: the log, the engine's file beside it, and the data folder."""
    own = [os.path.realpath(data_folder()) + os.sep]
    if address and address != ":memory:" and not is_postgres(address):
        log = os.path.realpath(os.path.expanduser(address))
        stem, suffix = os.path.splitext(log)
        own += [f"{file}{end}" for file in (log, f"{stem}.engine{suffix}") for end in _BESIDE]
    return tuple(own)
