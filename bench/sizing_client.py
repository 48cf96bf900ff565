"""`python -m bench.sizing_client ADDRESS CONVERSATIONS TURNS AT_ONCE WATCHED` asks like a server.

With `1` for WATCHED it also reads the words of the replies while they arrive.

Prints one JSON object: the seconds of CPU that this process took, its memory in megabytes, and the
bytes that it wrote to the disk.
"""

import asyncio
import json
import random
import resource
import sys
import time
from pathlib import Path

import sapwood

MODEL = "den:oak"
_PROMPT = 400
_WORDS = "the of a to in is you that it he was for on are as with his they be at one have this from"


def words(chance: random.Random, letters: int) -> str:
    """Some text of about this length, in which a number now and then keeps it from repeating."""
    text: list[str] = []
    length = 0
    while length < letters:
        word = chance.choice(_WORDS.split()) if chance.random() < 0.8 else f"{chance.random():.6f}"
        text.append(word)
        length += len(word) + 1
    return " ".join(text)


async def _ask(address: str, conversations: int, turns: int, at_once: int, watched: int) -> None:
    chance = random.Random(1)
    free = asyncio.Semaphore(at_once)
    async with sapwood.open(address) as db:

        async def converse(number: int) -> None:
            async with free:
                agent = await db.start(f"chat {number}", model=MODEL, owner=f"user-{number}")
                for _ in range(turns):
                    turn = agent.ask(words(chance, _PROMPT))
                    if watched:
                        async for _ in turn:
                            pass
                    await turn

        await asyncio.gather(*map(converse, range(conversations)))


if __name__ == "__main__":
    address, *numbers = sys.argv[1:]
    before = time.process_time()  # without the imports
    asyncio.run(_ask(address, *map(int, numbers)))
    used = time.process_time() - before
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = Path("/proc/self/io").read_text().splitlines()
    written = next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))
    print(json.dumps({"cpu": used, "megabytes": megabytes, "written": written}))
