"""`python client.py ADDRESS SPACE AGENTS STOP`: gives agents work until the file STOP exists.

It runs with the older version and with this one, so it uses only what both have. It prints the
prompts that it gave, one on a line: agent, number, text.
"""

import asyncio
import sys
from pathlib import Path

from sapwood.app.connection import connect
from sapwood.app.engines import engine_for
from sapwood.config.config_file import load_config
from sapwood.core.commands import StartAgent, StartTurn
from sapwood.core.content import Text
from sapwood.core.settings import Settings, Workspace
from sapwood.turns.clock_and_ids import command_meta, new_agent_id

_GLANCE = 0.1


async def _give(address: str, space: str, agents: int, stop: Path) -> None:
    connection = await connect(address, space)
    engine = engine_for(load_config())
    names = [new_agent_id() for _ in range(agents)]

    async def do(command: StartAgent | StartTurn) -> None:
        done = await connection.dispatcher.dispatch(command, command_meta())
        assert not hasattr(done, "sentence"), done  # a refusal

    for agent in names:
        await do(StartAgent(agent, agent, Settings(model="den:oak"), Workspace()))
    number = 0
    while not await asyncio.to_thread(stop.exists):
        for agent in names:
            [found] = await connection.log.find(connection.space, agent)
            if not found.working:
                number += 1
                text = f"token {space} {agent} {number}"
                await do(StartTurn(agent, (Text(text),)))
                await engine.wake(connection.space, agent, model="den:oak")
                print(agent, number, text, sep="\t", flush=True)
        await asyncio.sleep(_GLANCE)
    await engine.close()
    await connection.close()


if __name__ == "__main__":
    address, space, agents, stop = sys.argv[1:]
    asyncio.run(_give(address, space, int(agents), Path(stop)))
