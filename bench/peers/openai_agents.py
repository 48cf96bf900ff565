"""The SQLite sessions of the OpenAI Agents SDK: the plain one and the one with branches.

Runs in the peers' environment, so our type checker leaves this file out.
"""

import asyncio
from contextlib import closing
from importlib.metadata import version

from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession
from conversation import conversation, turns
from figures import PeerFigures
from measurement import (
    LAST_TURNS,
    LOADS,
    Task,
    durability,
    p50,
    parse_task,
    require_same,
    settled_bytes,
    stopwatch,
)

FORKS = 3

NAMES = {"plain": "SQLiteSession", "advanced": "AdvancedSQLiteSession"}

REMARKS = {
    "plain": "offers no fork: all items added to a new session in one call",
    "advanced": (
        "create_branch_from_turn at the last turn, the nearest to the end that it offers; "
        "it carries all turns before that one"
    ),
}


def open_session(task, name="main"):
    if task.store == "advanced":
        return AdvancedSQLiteSession(session_id=name, db_path=task.file, create_tables=True)
    return SQLiteSession(name, task.file)


async def append(task, messages):
    times = []
    with closing(open_session(task)) as session:
        for turn in turns(messages):
            items = [{"role": message.role, "content": message.text} for message in turn]
            with stopwatch(times):
                await session.add_items(items)
    return times


async def load(task, messages):
    times = []
    for _ in range(LOADS):
        with stopwatch(times):
            session = open_session(task)
            items = await session.get_items()
        session.close()
        require_same(messages, [item["content"] for item in items])
    return times


async def fork_plain(task, messages):
    times = []
    with closing(open_session(task)) as session:
        for number in range(FORKS):
            with stopwatch(times):
                fork = open_session(task, f"fork {number}")
                await fork.add_items(await session.get_items())
            require_same(messages, [item["content"] for item in await fork.get_items()])
            fork.close()
    return times


async def fork_advanced(task, messages):
    times = []
    with closing(open_session(task)) as session:
        for number in range(FORKS):
            with stopwatch(times):
                await session.create_branch_from_turn(len(messages) // 2, f"fork {number}")
            require_same(messages[:-2], [item["content"] for item in await session.get_items()])
            await session.switch_to_branch("main")
    return times


async def measure(task: Task) -> PeerFigures:
    messages = conversation(task.messages)
    appends = await append(task, messages)
    before = settled_bytes(task.file)
    loads = await load(task, messages)
    fork = fork_advanced if task.store == "advanced" else fork_plain
    forks = await fork(task, messages)
    after = settled_bytes(task.file)
    return PeerFigures(
        name=f"OpenAI Agents SDK {NAMES[task.store]}",
        version=version("openai-agents"),
        messages=task.messages,
        append_p50_ms=p50(appends),
        append_last_p50_ms=p50(appends[-LAST_TURNS:]),
        load_ms=p50(loads),
        fork_ms=p50(forks),
        fork_bytes=(after - before) // FORKS,
        disk_bytes=before,
        durability=durability(task.file),
        remark=REMARKS[task.store],
    )


if __name__ == "__main__":
    print(asyncio.run(measure(parse_task(__doc__, tuple(NAMES)))).to_json())
