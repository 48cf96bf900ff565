"""`python -m tests.engine.temporal_history_recorder VERSION`: writes histories that are replayed.

Run it once for each released version whose workflows ask Temporal for something new, and never
overwrite the files of an older one: they stand for workflows that wait in the clusters of users.
"""

import asyncio
import re
import sys
from pathlib import Path

from temporalio.client import Client

from sapwood.core.ids import AgentId, Space
from sapwood.engine import DriveLimits
from sapwood_temporal.workflow_values import agent_workflow_id, limit_workflow_id
from tests.engine.backends import FAST, TemporalBackend
from tools.temporal_server import throwaway

_SPACE, _WOKEN, _DELAYED, _FAILING = Space("main"), *map(AgentId, ("woken", "delayed", "failing"))
_STACK = re.compile(r'"stackTrace": "(?:[^"\\]|\\.)*"')
FOLDER = Path(__file__).with_name("temporal_histories")


async def _record(address: str, version: str) -> None:
    backend = TemporalBackend(address, f"recorded-{version}")
    engine = backend.engine(DriveLimits(per_model=1), FAST)

    async def drive(space: Space, agent: AgentId) -> None:
        if agent == _FAILING:
            raise RuntimeError("never")

    for _ in range(2):
        await engine.wake(_SPACE, _WOKEN, model="oak")
    await engine.wake(_SPACE, _DELAYED, model="oak", delay=1.0)
    await engine.wake(_SPACE, _DELAYED, model="oak")
    await engine.wake(_SPACE, _FAILING, model="oak")
    await engine.launch(drive)
    client, queue = await Client.connect(address), backend.config.task_queue
    names = {agent: agent_workflow_id(queue, _SPACE, agent) for agent in (_WOKEN, _DELAYED)}
    names[_FAILING] = agent_workflow_id(queue, _SPACE, _FAILING)
    for agent, name in {**names, AgentId("limit"): limit_workflow_id(queue, "model:oak")}.items():
        handle = client.get_workflow_handle(name)
        await handle.result()
        history = await handle.fetch_history()
        await asyncio.to_thread(_write, FOLDER / f"{version}-{agent}.json", history.to_json())
    await engine.close()


def _write(file: Path, text: str) -> None:
    if file.exists():
        raise FileExistsError(f"{file} belongs to a version that was released.")
    file.write_text(_STACK.sub('"stackTrace": ""', text) + "\n")


if __name__ == "__main__":
    with throwaway() as server:
        asyncio.run(_record(server.address, sys.argv[1]))
