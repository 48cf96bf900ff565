"""Connects erasure with all places where this machine has data of a conversation."""

import asyncio
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sapwood.core.erasure import ErasureItem
from sapwood.core.ids import AgentId, Space
from sapwood.lifecycle.erasable_log import erasable
from sapwood.lifecycle.erasure import Eraser, OutsideEraser, resume_erasures

if TYPE_CHECKING:
    from sapwood.app.connection import Connection

__all__ = ["eraser_for", "finish_erasures"]


def eraser_for(connection: "Connection") -> Eraser:
    """Returns what erases in the space of the connection. Raises `LogError`."""
    return Eraser(
        erasable(connection.log),
        connection.space,
        _outside(connection),
        connection.dispatcher.forget,
        _ArchivedAgents(connection).restore,
    )


async def finish_erasures(connection: "Connection") -> int:
    """Finishes erasures that were interrupted. Returns how many there were."""
    return await resume_erasures(erasable(connection.log), _outside(connection))


def _outside(connection: "Connection") -> list[OutsideEraser]:
    """The places outside of the log; none if the log is not the one of this machine's data."""
    if not connection.address or connection.address == ":memory:":
        return []
    from sapwood.lifecycle.local_files import erase_local_files

    found: list[OutsideEraser] = [_erase_archives, _erase_checkpoints, erase_local_files]
    if find_spec("dbos") is not None:
        found.append(_EngineEraser(connection.address))
    return found


class _ArchivedAgents:
    """Brings archived conversations back before they are erased.

    Only their own events say to whom they sent mail. The object is deleted then, so that a process
    that dies leaves the conversation in the log.
    """

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    async def restore(self, agents: Sequence[AgentId]) -> None:
        """Restores those of the agents that are in an archive."""
        from sapwood.lifecycle.archive import archive_address, delete_object, restore_conversation

        log, space = erasable(self._connection.log), self._connection.space
        for agent in agents:
            facts = await log.facts(space, agent)
            address = archive_address(facts) if facts is not None else ""
            if address:
                await restore_conversation(log, space, agent, address, by="system")
                await delete_object(address)


async def _erase_archives(space: Space, item: ErasureItem) -> None:
    if item.outside.archives:
        from sapwood.lifecycle.archive import delete_object

        for address in item.outside.archives:
            await delete_object(address)


async def _erase_checkpoints(space: Space, item: ErasureItem) -> None:
    from sapwood.workspace.checkpoints.checkpoint_erasure import erase_checkpoints

    await asyncio.to_thread(erase_checkpoints, item.agent, item.outside.folders)


class _EngineEraser:
    """Deletes agents from the tables of the durable engine."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def __call__(self, space: Space, item: ErasureItem) -> None:
        """Deletes the agent, and what a file of the engine still has of it."""
        await asyncio.to_thread(self._erase, space, item)

    def _erase(self, space: Space, item: ErasureItem) -> None:
        from sapwood.engine.dbos.engine_erasure import erase_from_engine, scrub_engine

        erase_from_engine(self._address, space, item.agent)
        scrub_engine(self._address)
