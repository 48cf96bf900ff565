"""The lock of a session: one at a time, again inside the same task, and never for ever."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.imports import session_lock as module
from sapwood.imports.session_lock import session_lock


def lock(name: str) -> AbstractAsyncContextManager[None]:
    """The lock of one agent of a test."""
    return session_lock("log.db", Space("space"), AgentId(name))


async def test_one_task_at_a_time_has_the_lock() -> None:
    inside: list[str] = []

    async def take(name: str, entered: asyncio.Event, leave: asyncio.Event) -> None:
        async with lock("one"):
            inside.append(name)
            entered.set()
            await leave.wait()
            inside.append(f"{name} left")

    entered, leave = asyncio.Event(), asyncio.Event()
    first = asyncio.create_task(take("first", entered, leave))
    await entered.wait()
    second = asyncio.create_task(take("second", asyncio.Event(), leave))
    leave.set()
    await asyncio.gather(first, second)
    assert inside == ["first", "first left", "second", "second left"]


async def test_the_task_that_has_the_lock_may_take_it_again() -> None:
    async with asyncio.timeout(5), lock("two"), lock("two"):
        pass


async def test_without_a_lock_in_time_the_block_runs_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with lock("three"):
            entered.set()
            await leave.wait()

    holder = asyncio.create_task(hold())
    await entered.wait()
    async with asyncio.timeout(5), lock("three"):
        leave.set()
    await holder
