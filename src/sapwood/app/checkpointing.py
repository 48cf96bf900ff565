"""Checkpoints wired: which files are Sapwood's own, who saves the others, and who goes back."""

import os

from sapwood.app.config import CheckpointConfig, Config
from sapwood.app.connection import Connection
from sapwood.app.findings import Finding
from sapwood.app.folders import data_folder
from sapwood.app.opening import is_postgres
from sapwood.core.checkpoint import Unsaved
from sapwood.core.commands import MakeCheckpoint
from sapwood.core.ids import AgentId
from sapwood.core.refusals import NotSaved, Refusal
from sapwood.core.settings import Workspace
from sapwood.runtime.checkpoints import Checkpoints
from sapwood.runtime.dispatch import Done
from sapwood.runtime.fresh import given

__all__ = [
    "checkpoint",
    "checkpoints_for",
    "examine_checkpoints",
    "keeper_for",
]

_BESIDE = ("", "-wal", "-shm", "-journal")


def checkpoints_for(connection: Connection, config: Config) -> Checkpoints | None:
    """Where files are saved, unless that is switched off."""
    return keeper_for(connection, config.checkpoints) if config.checkpoints.enabled else None


async def checkpoint(connection: Connection, config: Config, agent: AgentId) -> Done | Refusal:
    """Saves the files now: as those before the open turn, or after the last one."""
    state = (await connection.dispatcher.open(agent)).state
    saved = await keeper_for(connection, config.checkpoints).save(state.workspace, agent)
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


def keeper_for(connection: Connection, config: CheckpointConfig) -> Checkpoints:
    """Where files are saved and restored from, whether or not saving is switched on."""
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
