"""A process that has an agent open; its arguments are an address, a space and an agent.

Reads the agent, says `ready`, and waits for a line. Then it does what a process does that knows
nothing of an erasure: it shows the agent, saves its old state as a snapshot, and stores a tool
result with the mail that it had read. It prints what it showed.
"""

import asyncio
import sys

import sapwood
from sapwood import RecordedReply, RecordedResult, ToolCall
from sapwood.turns.open_agent import snapshot_of


async def _run(address: str, space: str, name: str) -> None:
    async with sapwood.open(address, space=space) as db:
        agent = await db.get(name)
        connection = db.connection
        seen = (await connection.dispatcher.open(agent.id)).state
        mail = await agent.read_mail()
        await agent.request()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await connection.log.save_snapshot(connection.space, snapshot_of(seen))
        call = RecordedReply((ToolCall("1", "slash", "{}"),))
        await agent.record("What was it?", call, RecordedResult("1", str(mail)), "Read.")
        print(await agent.request(), await agent.state(), await agent.events(), flush=True)


if __name__ == "__main__":
    asyncio.run(_run(*sys.argv[1:]))
