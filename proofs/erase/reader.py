"""A process that has agents in memory while others are erased; its argument is an address.

It takes lines of JSON. A list of pairs, space and agent, opens these agents. `again` makes it do
what a process does that knows nothing of an erasure: it saves the states of the first reading as
snapshots, and then shows every agent. It answers each line with the markers that it has shown.
"""

import asyncio
import re
import sys

import msgspec

import sapwood
from sapwood.core.ids import AgentId
from sapwood.core.log_values import Snapshot
from sapwood.turns.open_agent import snapshot_of

_MARKER = re.compile(r"mk[0-9a-f]{24}")


class OpenAgents:
    """Agents in the memory of this process."""

    def __init__(self, db: sapwood.Sapwood) -> None:
        self._db = db
        self._spaces: dict[str, sapwood.Sapwood] = {}
        self._seen: dict[tuple[str, AgentId], Snapshot] = {}

    async def open(self, agents: list[tuple[str, AgentId]]) -> set[str]:
        """Opens agents and returns their markers."""
        shown: set[str] = set()
        for space, agent in agents:
            db = self._spaces.setdefault(space, self._db.space(space))
            state = (await db.connection.dispatcher.open(agent)).state
            self._seen[space, agent] = snapshot_of(state)
            shown |= await _shown(db, agent)
        return shown

    async def again(self) -> set[str]:
        """Saves the old states, and returns the markers that are shown now."""
        shown: set[str] = set()
        for (space, agent), snapshot in self._seen.items():
            db = self._spaces[space]
            await db.connection.log.save_snapshot(db.connection.space, snapshot)
            shown |= await _shown(db, agent)
        return shown


async def _shown(db: sapwood.Sapwood, name: AgentId) -> set[str]:
    opened = await db.connection.dispatcher.open(name)
    if not opened.state.version:
        return set()
    agent = await db.get(name)
    return set(_MARKER.findall(f"{opened} {await agent.request()} {await agent.state()}"))


async def _serve(address: str) -> None:
    async with sapwood.open(address) as db:
        agents = OpenAgents(db)
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip() == "again":
                shown = await agents.again()
            else:
                shown = await agents.open(msgspec.json.decode(line, type=list[tuple[str, AgentId]]))
            print(msgspec.json.encode(sorted(shown)).decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
