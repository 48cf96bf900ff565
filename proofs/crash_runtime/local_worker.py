"""`python -m proofs.crash_runtime.local_worker`: a process that drives agents itself.

It does what a screen or `sapwood run` does, until it gets SIGTERM: it takes the agents that were
woken, and those of processes that died.
"""

import asyncio
import signal
import sys

from sapwood.app.assembly import assemble
from sapwood.app.connection import connect
from sapwood.config.api_keys import load_keys
from sapwood.config.config_file import load_config


async def _work() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    config = load_config()
    connection = await connect(config.address, config.space)
    runner = assemble(connection, config, load_keys())
    await runner.start()
    print(f"Running the agents of {config.address}.", file=sys.stderr, flush=True)
    await stop.wait()
    await runner.close()
    await connection.close()


if __name__ == "__main__":
    asyncio.run(_work())
