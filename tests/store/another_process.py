"""`python -m tests.store.another_process KIND ADDRESS SPACE AGENT TEXT…`: appends events."""

import asyncio
import sys

from sapwood.core.ids import AgentId, Space
from tests.store.backends import open_at
from tests.store.contract import Backend, grow


async def write_elsewhere(backend: Backend, space: Space, agent: AgentId, *texts: str) -> None:
    """Starts another process that appends one event for each text, each in its own commit."""
    arguments = ("-m", __name__, backend.name, backend.address, space, agent, *texts)
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments)
    assert await process.wait() == 0


async def _main(kind: str, address: str, space: str, agent: str, *texts: str) -> None:
    log = await open_at(kind, address)
    try:
        for text in texts:
            await grow(log, Space(space), AgentId(agent), text)
    finally:
        await log.close()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
