"""Runs scenes, one after the other, in one wire format."""

import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from proofs.e2e.checks import Checks
from proofs.e2e.scenes import (
    agent_kill,
    compaction,
    delegation,
    file_revert,
    interruption,
    limits,
    model_switch,
    replay,
    rewind,
    shell,
    teamwork,
    turn,
)
from proofs.e2e.system_under_test import SystemUnderTest, open_system
from proofs.e2e.wires import LIMITS
from scripted_model import ScriptedModel

SCENES: dict[str, Callable[[SystemUnderTest], Awaitable[None]]] = {
    "turn": turn.play,
    "model_switch": model_switch.play,
    "delegation": delegation.play,
    "teamwork": teamwork.play,
    "agent_kill": agent_kill.play,
    "compaction": compaction.play,
    "rewind": rewind.play,
    "interruption": interruption.play,
    "limits": limits.play,
    "file_revert": file_revert.play,
    "replay": replay.play,
    "shell": shell.play,
}
"""The scenes in their order; `replay` replays every model call of the scenes before it."""


async def prove(wire: str, scenes: Sequence[str], checks: Checks) -> int:
    """Runs these scenes; returns the number of replayed model calls."""
    server = ScriptedModel(context_limit=LIMITS)
    with tempfile.TemporaryDirectory(prefix="sapwood-e2e-") as folder, server:
        async with open_system(wire, Path(folder), server, checks) as system:
            for name in scenes:
                checks.where, started = f"{wire}, {name}", time.monotonic()
                await SCENES[name](system)
                print(f"{checks.where}: {time.monotonic() - started:.1f} s", flush=True)
        checks.where = wire
        checks.same("the server rejects nothing", server.rejections, [])
    return system.calls
