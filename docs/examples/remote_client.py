"""Holds a conversation on a server of another machine: `sapwood serve` there, this program here.

    python remote_client.py https://sapwood.example "Where do herons nest?" photo.png

The token comes from the variable SAPWOOD_TOKEN, or from `sapwood login`.
"""

import asyncio
import os
import sys
from pathlib import Path

import sapwood
from sapwood import Delta, File, RefusedError, Text


async def main(address: str, question: str, files: list[File]) -> None:
    """Asks with files, follows the answer, trims, undoes."""
    async with sapwood.open(address, token=os.environ.get("SAPWOOD_TOKEN", "")) as db:
        for summary in await db.agents(limit=5):
            print(
                f"{summary.agent}  {summary.status:<8} {summary.tokens:>6} tokens  {summary.name}"
            )
        model = os.environ.get("SAPWOOD_MODEL", "claude-sonnet-5-5")
        agent = await db.start("from afar", model=model)

        turn = agent.ask([*files, Text(question)], command_id=f"{agent.id}-1")
        async for item in turn:  # goes on where it was if the connection is lost
            if isinstance(item, Delta):
                print(item.text, end="", flush=True)
        print(f"\n{turn.result.usage.output} tokens")

        print(await agent.mark("ANSWERED"))
        print(await agent.clear())
        print(await agent.undo())
        try:
            await agent.rewind("ANSWERD")
        except RefusedError as refused:
            print(refused)


if __name__ == "__main__":
    given = [File.of(Path(each).read_bytes(), name=each) for each in sys.argv[3:]]
    asyncio.run(main(sys.argv[1], sys.argv[2], given))
