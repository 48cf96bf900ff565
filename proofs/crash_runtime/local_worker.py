"""`python -m proofs.crash_runtime.local_worker`: a worker on the engine of one process.

`sapwood worker` needs an engine that other processes can wake. This worker looks for agents that
have work to do twice a second instead, as every worker does when it starts.
"""

import asyncio
import signal
import sys
from contextlib import suppress

from sapwood.app.assembly import assemble
from sapwood.app.connection import connect
from sapwood.app.engines import local_engine
from sapwood.config.api_keys import load_keys
from sapwood.config.config_file import load_config
from sapwood.engine import keep_awake

_LOOK = 0.5


async def _work() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    config, engine = load_config(), local_engine()
    connection = await connect(config.address, config.space)
    runner = assemble(connection, config, load_keys(), engine=engine)
    await runner.start()
    looking = asyncio.create_task(
        keep_awake(connection.log, engine, [connection.space], every=_LOOK)
    )
    print(f"Running the agents of {config.address}.", file=sys.stderr, flush=True)
    await stop.wait()
    looking.cancel()
    with suppress(asyncio.CancelledError):
        await looking
    await runner.close()
    await connection.close()


if __name__ == "__main__":
    asyncio.run(_work())
