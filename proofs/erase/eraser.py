"""The process that erases: `python -m proofs.erase.eraser ADDRESS SPACE CALL AGENT…`.

With CALL above 0 it kills itself before its n-th call of the store, so that every step of an
erasure is the last one of some process. Without agents it erases the whole space.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import sapwood

STEPS = (
    *("begin_erasure", "erase_agent", "clear_space", "erase_words"),
    *("forget_agents", "scrub", "finish_erasure"),
)


def _die_at(log: object, call: int) -> None:
    """Replaces the methods of the log that erase by ones that count."""
    left = [call]

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: object) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*args)

        return run

    for name in STEPS:
        setattr(log, name, counted(getattr(log, name)))


async def _erase(address: str, space: str, call: int, agents: list[str]) -> None:
    async with sapwood.open(address, space=space) as db:
        if call:
            _die_at(db.connection.log, call)
        if agents:
            await db.erase(agents)
        else:
            await db.erase_space()


if __name__ == "__main__":
    asyncio.run(_erase(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]))
