"""A process that takes an agent back and is killed on the way, at the step that it is told.

    python -m tests.turns.killed_revert DATABASE STEP TURN

A step is a file put in place or taken away, or a command given to the log.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from sapwood.api import open
from sapwood.core.commands import Command, CommandMeta
from sapwood.core.refusals import Refusal
from sapwood.turns.dispatch import Dispatcher, Done


def killing(step: int) -> Callable[[], None]:
    """What to call at every step: at that one the process ends, as by a power cut."""
    left = step

    def count() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    return count


def main(database: str, step: int, turn: int | None) -> None:
    """Reverts, and prints what came of it if nothing ended it."""
    count = killing(step)
    for name in ("replace", "unlink"):
        act: Callable[..., Any] = getattr(os, name)

        def counted(*args: Any, _act: Callable[..., Any] = act, **options: Any) -> Any:
            if "dir_fd" in options or "src_dir_fd" in options:  # as files are restored
                count()
            return _act(*args, **options)

        setattr(os, name, counted)
    dispatch = Dispatcher.dispatch

    async def counted_dispatch(
        self: Dispatcher, command: Command, meta: CommandMeta
    ) -> Done | Refusal:
        count()
        return await dispatch(self, command, meta)

    Dispatcher.dispatch = counted_dispatch

    async def revert() -> None:
        async with open(database) as db:
            sys.stdout.write((await (await db.find("lead")).revert(turn)).message)

    asyncio.run(revert())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if sys.argv[3] else None)
