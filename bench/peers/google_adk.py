"""Google ADK's session services on SQLite: the database one and the lighter SQLite-only one.

Runs in the peers' environment, so our type checker leaves this file out.
"""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from conversation import conversation, turns
from figures import PeerFigures
from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
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

NAMES = {"database": "DatabaseSessionService", "sqlite": "SqliteSessionService"}
OWNER = {"app_name": "bench", "user_id": "bench"}

COPIES = 500
"""How many events are copied to measure a fork; a later copy costs no more."""

REMARK = (
    "one transaction a message, more is not offered; offers no fork: a new session and every "
    f"event appended to it again, computed from the median of the first {COPIES} and their growth"
)


@asynccontextmanager
async def open_service(task):
    if task.store == "sqlite":
        yield SqliteSessionService(str(task.file))
        return
    async with DatabaseSessionService(f"sqlite+aiosqlite:///{task.file}") as service:
        yield service


def as_event(message, turn):
    role = "user" if message.role == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=message.text)])
    return Event(author=role, invocation_id=f"turn {turn}", content=content)


def texts(session):
    return [event.content.parts[0].text for event in session.events]


async def append(task, messages):
    times = []
    async with open_service(task) as service:
        session = await service.create_session(**OWNER, session_id="main")
        for number, turn in enumerate(turns(messages)):
            events = [as_event(message, number) for message in turn]
            with stopwatch(times):
                for event in events:
                    await service.append_event(session, event)
    return times


async def load(task, messages):
    times = []
    for _ in range(LOADS):
        async with AsyncExitStack() as stack:
            with stopwatch(times):
                service = await stack.enter_async_context(open_service(task))
                session = await service.get_session(**OWNER, session_id="main")
        require_same(messages, texts(session))
    return times


async def fork(task, messages):
    """The time of a fork and the bytes that it adds, computed from some of the copies."""
    reading, copying = [], []
    async with open_service(task) as service:
        with stopwatch(reading):
            session = await service.get_session(**OWNER, session_id="main")
            copy = await service.create_session(**OWNER, session_id="fork", state=session.state)
        before = settled_bytes(task.file)
        sample = session.events[:COPIES]
        for event in sample:
            with stopwatch(copying):
                await service.append_event(copy, event)
        copied = await service.get_session(**OWNER, session_id="fork")
        require_same(messages[: len(sample)], texts(copied))
    growth = settled_bytes(task.file) - before
    fork_ms = sum(reading) + p50(copying) * len(messages)
    return round(fork_ms, 3), round(growth * len(messages) / len(sample))


async def measure(task: Task) -> PeerFigures:
    messages = conversation(task.messages)
    appends = await append(task, messages)
    disk_bytes = settled_bytes(task.file)
    loads = await load(task, messages)
    fork_ms, fork_bytes = await fork(task, messages)
    return PeerFigures(
        name=f"Google ADK {NAMES[task.store]}",
        version=version("google-adk"),
        messages=task.messages,
        append_p50_ms=p50(appends),
        append_last_p50_ms=p50(appends[-LAST_TURNS:]),
        load_ms=p50(loads),
        fork_ms=fork_ms,
        fork_bytes=fork_bytes,
        disk_bytes=disk_bytes,
        durability=durability(task.file),
        remark=REMARK,
    )


if __name__ == "__main__":
    print(asyncio.run(measure(parse_task(__doc__, tuple(NAMES)))).to_json())
