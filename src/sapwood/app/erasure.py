"""Connects erasure with all places where this machine has data of a conversation."""

import asyncio
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.core.erasure import ErasureItem, Senders
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary
from sapwood.lifecycle.erasable_log import erasable
from sapwood.lifecycle.erasure import Eraser, OutsideEraser, OutsidePlaces, resume_erasures

if TYPE_CHECKING:
    from sapwood.app.connection import Connection

__all__ = ["eraser_for", "find_again", "finish_erasures"]

_PAGE = 1_000


def eraser_for(connection: "Connection") -> Eraser:
    """Returns what erases in the space of the connection. Raises `LogError`."""
    return Eraser(
        erasable(connection.log),
        connection.space,
        _outside(connection),
        connection.dispatcher.forget,
    )


async def finish_erasures(connection: "Connection") -> int:
    """Finishes erasures that were interrupted. Returns how many there were."""
    return await resume_erasures(erasable(connection.log), _outside(connection))


async def find_again(
    connection: "Connection", files: Sequence[Path]
) -> dict[Space, list[AgentSummary]]:
    """What these lists of erasures name, and the database has again, after a restore; by space.

    Raises `LogError` if a list cannot be read.
    """
    from sapwood.lifecycle.erasure_list import is_erased, read_erased

    log = erasable(connection.log)
    found: dict[Space, list[AgentSummary]] = {}
    for space, times in (await asyncio.to_thread(read_erased, files)).items():
        page = await log.agents(space, limit=_PAGE)
        while page:
            found.setdefault(space, []).extend(
                facts for facts in page if is_erased(times, space, facts)
            )
            page = await log.agents(space, after=page[-1], limit=_PAGE)
    return {space: agents for space, agents in found.items() if agents}


def _outside(connection: "Connection") -> OutsidePlaces:
    """The places outside of the log; of a log that has no address, only archives."""
    archived = _Archives(connection).senders
    if not connection.address or connection.address == ":memory:":
        return OutsidePlaces(archived=archived)
    from sapwood.lifecycle.local_files import erase_local_files

    found: list[OutsideEraser] = [_erase_archives, _erase_checkpoints, erase_local_files]
    if find_spec("dbos") is not None:
        found.append(_EngineEraser(connection.address))
    return OutsidePlaces(tuple(found), archived, _remember)


async def _remember(space: Space, agent: AgentId, at: int) -> None:
    from sapwood.config.folders import erasures_file
    from sapwood.lifecycle.erasure_list import append_erased

    await asyncio.to_thread(append_erased, erasures_file(), space, agent, at)


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
        return await read_senders(self._log, space, address) if address else {}


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
