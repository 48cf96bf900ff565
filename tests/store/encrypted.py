"""A conversation with a marker in every place that has words, and the search for the markers."""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from sapwood import Agent, Sapwood
from sapwood.core.content import RecordedReply, RecordedResult, ToolCall
from sapwood.turns.open_agent import open_state, snapshot_of

PLACES = (
    *("name", "renamed", "owner", "label", "entry", "folder", "system", "pin", "prompt", "reply"),
    *("arguments", "result", "long", "mark", "goal", "mail", "topic", "receipt", "thought"),
)
"""What a conversation has words in."""

_LONG = " and much more that is kept apart" * 100


def marker(place: str) -> str:
    """A word that is nowhere else. It begins with the place: an index keeps ends of words only."""
    return f"{place}zq{place[::-1]}xkcd"


async def tell(db: Sapwood) -> Agent:
    """A conversation with all the markers, and a snapshot of it."""
    agent = await db.start(
        f"about {marker('name')}",
        owner=marker("owner"),
        labels=[marker("label")],
        metadata={"note": marker("entry")},
        folder=f"/srv/{marker('folder')}",
        system=f"Be {marker('system')}.",
        pins={"style": marker("pin")},
    )
    call = RecordedReply((ToolCall("1", "look", f'{{"at": "{marker("arguments")}"}}'),))
    await agent.record(
        f"Say {marker('prompt')}.",
        call,
        RecordedResult("1", f"It is {marker('result')}."),
        f"Here is {marker('reply')}.",
    )
    await agent.record(f"At length: {marker('long')}{_LONG}", "Done.")
    await agent.mark(marker("mark").upper())
    await agent.focus(marker("topic"))
    child = await agent.fork(goal=marker("goal"))
    async with child.turn() as turn:
        await turn.reply(f"I think {marker('thought')}.")
    await child.send(agent.id, f"Look at {marker('mail')}.")
    await child.rename(marker("renamed"))
    await agent.run_command(f"/mark {marker('receipt').upper()}")
    log, space = db.connection.log, db.connection.space
    await log.save_snapshot(space, snapshot_of(await open_state(log, space, agent.id)))
    await db.search("something")  # fills the index
    return agent


def raw_bytes(address: str, part: str = "--schema=sapwood") -> bytes:
    """A dump of the database, and in SQLite its files too. Bytes in a dump are hexadecimal.

    `part` is the option of `pg_dump` that says of which tables; by default those of the log.
    """
    if "://" not in address:
        with closing(sqlite3.connect(address)) as connection:
            dump = "\n".join(connection.iterdump()).encode(errors="replace")
        path = Path(address)
        return dump + b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    path = os.pathsep.join([*map(str, reversed(programs)), os.environ.get("PATH", "")])
    command = ["pg_dump", "--no-owner", part, address]
    environment = {**os.environ, "PATH": path}
    return subprocess.run(command, capture_output=True, check=True, env=environment).stdout


def traces(data: bytes) -> set[str]:
    """The places whose markers are in these bytes."""
    lower = data.lower()
    return {
        place
        for place in PLACES
        if marker(place).encode() in lower or marker(place).encode().hex().encode() in lower
    }
