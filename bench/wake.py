"""From a prompt in one process to the model call of a worker in another, on both databases.

    just bench wake

A library process leaves prompts in several spaces with `agent.ask`; a `sapwood worker` for all of
them answers. The delay is the time from the call until the event `model.called` is seen here, so it
includes both commits, the wake-up, the queue of the engine and the way back.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from sapwood import Agent, Recorded, open
from scripted_model import ScriptedModel
from tools.postgres import dsn_or_throwaway

LIMIT = 1.0
"""Seconds that half of the prompts may take at most; an idle machine takes a fifth of it."""
_SPACES = 5


def main(arguments: list[str]) -> int:
    """Prints the delays and returns 1 if they are too long."""
    parser = argparse.ArgumentParser(prog="python -m bench wake", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--prompts", type=int, default=0)
    options = parser.parse_args(arguments)
    prompts = options.prompts or (10 if options.quick else 50)
    missed = False
    with tempfile.TemporaryDirectory(prefix="sapwood-wake-") as folder, dsn_or_throwaway() as dsn:
        for name, address in (("SQLite", str(Path(folder) / "log.db")), ("PostgreSQL", dsn)):
            delays = sorted(asyncio.run(_delays(address, Path(folder), prompts)))
            middle, late = delays[len(delays) // 2], delays[int(len(delays) * 0.95)]
            missed |= middle > LIMIT
            print(
                f"wake: {name}: from a prompt to the model call of a worker "
                f"p50 {1000 * middle:.0f} ms, p95 {1000 * late:.0f} ms ({prompts} prompts in "
                f"{_SPACES} spaces; at most {1000 * LIMIT:.0f} ms at p50)",
                flush=True,
            )
    return int(missed)


async def _delays(address: str, folder: Path, prompts: int) -> list[float]:
    with ScriptedModel() as model:
        model.script(lambda _: "Done.")
        async with open(address) as db, _worker(address, folder, model.openai_url):
            agents = [
                await db.space(f"wake-{number}").start(model="den:oak") for number in range(_SPACES)
            ]
            await asyncio.gather(*(agent.ask("Warm up.").send() for agent in agents))
            for agent in agents:
                await _until_idle(agent)
            return [await _delay(agents[number % _SPACES]) for number in range(prompts)]


async def _delay(agent: Agent) -> float:
    began, called = time.monotonic(), 0.0
    async for item in agent.ask("Hello."):
        if isinstance(item, Recorded) and item.kind == "model.called":
            called = time.monotonic() - began
    return called


async def _until_idle(agent: Agent) -> None:
    async for recorded in agent.follow():
        if recorded.kind == "turn.completed":
            return


@asynccontextmanager
async def _worker(address: str, folder: Path, model: str) -> AsyncGenerator[None]:
    config = folder / "config.toml"
    config.write_text(f'[base_urls]\nden = "{model}"\n')
    environment = {
        **os.environ,
        "SAPWOOD_CONFIG": str(config),
        "SAPWOOD_DATA": str(folder),
        "SAPWOOD_DATABASE": address,
    }
    command = [sys.executable, "-m", "sapwood.cli", "worker", "--spaces", "wake-*"]
    worker = await create_subprocess_exec(*command, env=environment, stderr=PIPE)
    assert worker.stderr is not None
    try:
        while b"Running the agents" not in await worker.stderr.readline():
            if worker.returncode is not None:
                raise RuntimeError("the worker did not start")
        yield
    finally:
        worker.terminate()
        await worker.communicate()
