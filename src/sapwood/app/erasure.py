"""Connects erasure with all places where this machine has data of a conversation."""

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sapwood.core.erasure import ErasureItem, Senders
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
        _Archives(connection).senders,
    )


async def finish_erasures(connection: "Connection") -> int:
    """Finishes erasures that were interrupted. Returns how many there were."""
    log, archives = erasable(connection.log), _Archives(connection)
    return await resume_erasures(log, _outside(connection), archives.senders)


def _outside(connection: "Connection") -> list[OutsideEraser]:
    """The places outside of the log; none if the log is not the one of this machine's data."""
    if not connection.address or connection.address == ":memory:":
        return []
    from sapwood.lifecycle.local_files import erase_local_files

    found: list[OutsideEraser] = [_erase_archives, _erase_checkpoints, erase_local_files]
    if find_spec("dbos") is not None:
        found.append(_EngineEraser(connection.address))
    return found


class _Archives:
    """Reads what archived conversations have, to erase their words elsewhere.

    Only their own events say to whom they sent mail.
    """

    def __init__(self, connection: "Connection") -> None:
        self._log = erasable(connection.log)

    async def senders(self, space: Space, agent: AgentId) -> Senders:
        """The agents of the conversation of which this one is the stub. Raises `LogError`."""
        from sapwood.lifecycle.archive import archive_address, read_senders

        facts = await self._log.facts(space, agent)
        address = archive_address(facts) if facts is not None else ""
        return await read_senders(address) if address else {}


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
