"""DBOS workflows of three empty steps: what a turn of model, tool and model is there, bare.

Runs in the peers' environment, so our type checker leaves this file out. Prints workflows a second.
"""

import argparse
import asyncio
import time

from dbos import DBOS, DBOSConfig


@DBOS.step()
async def ask_model():
    return "Look."


@DBOS.step()
async def run_tool():
    return "Seen."


@DBOS.workflow()
async def turn():
    await ask_model()
    await run_tool()
    await ask_model()


async def measure(agents: int, turns: int) -> float:
    """Turns a second of so many agents at once, each of which has one after the other."""

    async def some():
        for _ in range(turns // agents):
            await turn()

    await turn()  # connections and compiled statements
    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(agents)))
    return turns // agents * agents / (time.perf_counter() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True, help="the address of an empty database")
    parser.add_argument("--agents", type=int, required=True)
    parser.add_argument("--turns", type=int, required=True)
    options = parser.parse_args()
    settings = {"name": "turns", "system_database_url": options.database}
    DBOS(config=DBOSConfig(**settings, run_admin_server=False, log_level="ERROR"))
    DBOS.launch()
    try:
        print(asyncio.run(measure(options.agents, options.turns)))
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    main()
