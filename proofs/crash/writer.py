"""The process that gets killed: `python -m proofs.crash.writer ADDRESS SPACE LIFE DIARY`.

It reads the commands that an earlier process left open from standard input, one on each line. It
prints `ready` when the log is open, and then writes as fast as it can. It adds `+command` to the
diary before it submits a command, and `=command` after the acknowledgement. Both survive a kill.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from itertools import count

from proofs.crash.commands import AGENTS, commit_of
from sapwood.core.errors import VersionConflict
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.store.stores import StoreOptions, store_of
from sapwood.turns.log import Log

WRITERS = 6


class Life:
    """One writer process with several tasks."""

    def __init__(self, log: Log, space: Space, diary: int) -> None:
        self._log = log
        self._space = space
        self._diary = diary
        self._versions: dict[AgentId, int] = {}

    async def write(self, commands: Iterator[CommandId]) -> None:
        """Submits one command after the other."""
        for command in commands:
            os.write(self._diary, f"+{command}\n".encode())
            await self._give(command)
            os.write(self._diary, f"={command}\n".encode())

    async def look(self, agent: AgentId) -> None:
        """Reads the version of a log."""
        summary = await self._log.summary(self._space, agent)
        self._versions[agent] = summary.version if summary else 0

    async def _give(self, command: CommandId) -> None:
        while True:
            commit = commit_of(command, self._versions)
            try:
                earlier = await self._log.commit(self._space, commit)
            except VersionConflict as conflict:
                await self.look(conflict.agent)
                continue
            for append in commit.appends if earlier is None else ():
                end = append.expected + len(append.events)
                self._versions[append.agent] = max(end, self._versions[append.agent])
            return


async def main(address: str, space: str, life: str, diary: str) -> None:
    """Writes until it is killed."""
    left_open = [CommandId(line.strip()) for line in sys.stdin]
    log = await store_of(address).open(str(address), StoreOptions())
    writing = Life(log, Space(space), os.open(diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
    for agent in AGENTS:
        await writing.look(agent)
    print("ready", flush=True)
    await writing.write(iter(left_open))
    await asyncio.gather(
        *(
            writing.write(CommandId(f"{life}-{task}-{number}") for number in count())
            for task in range(WRITERS)
        )
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
