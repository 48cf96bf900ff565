"""Plays scenes, one after the other, in one wire format."""

import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from proofs.e2e.checks import Checks
from proofs.e2e.house import House, open_house
from proofs.e2e.scenes import (
    compacting,
    delegating,
    interrupting,
    killing,
    limits,
    replaying,
    reverting,
    rewinding,
    shell,
    switching,
    teamwork,
    turn,
)
from proofs.e2e.wires import LIMITS
from scripted_model import ScriptedModel

__all__ = ["SCENES", "prove"]

SCENES: dict[str, Callable[[House], Awaitable[None]]] = {
    "turn": turn.play,
    "switching": switching.play,
    "delegating": delegating.play,
    "teamwork": teamwork.play,
    "killing": killing.play,
    "compacting": compacting.play,
    "rewinding": rewinding.play,
    "interrupting": interrupting.play,
    "limits": limits.play,
    "reverting": reverting.play,
    "replaying": replaying.play,
    "shell": shell.play,
}
"""In the order in which they are played; `replaying` replays what was called before it."""


async def prove(wire: str, scenes: Sequence[str], checks: Checks) -> int:
    """Plays these scenes; how many model calls were replayed."""
    server = ScriptedModel(context_limit=LIMITS)
    with tempfile.TemporaryDirectory(prefix="sapwood-e2e-") as folder, server:
        async with open_house(wire, Path(folder), server, checks) as house:
            for name in scenes:
                checks.where, started = f"{wire}, {name}", time.monotonic()
                await SCENES[name](house)
                print(f"{checks.where}: {time.monotonic() - started:.1f} s", flush=True)
        checks.where = wire
        checks.same("the server rejects nothing", server.rejections, [])
    return house.calls
