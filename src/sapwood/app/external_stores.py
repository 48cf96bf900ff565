"""The places outside of the log where this machine has data of a conversation."""

import asyncio
from collections.abc import Collection

from sapwood.config.database_address import is_of_plugin
from sapwood.core.erasure import ErasureItem, Senders
from sapwood.core.ids import AgentId, Space
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.lifecycle.erasure import ExternalEraser, ExternalStores


def external_stores(log: ErasableLog, address: str) -> ExternalStores:
    """The places outside of the log; of a log that has no address, only archives."""
    archives = _Archives(log)
    local = bool(address) and address != ":memory:" and not is_of_plugin(address)
    return ExternalStores(
        _local_places(log, address) if local else (),
        archives.senders,
        _remember if local else None,
        _delete_archive,
        archives.erase_words,
        archives.refuse_restores,
    )


def _local_places(log: ErasableLog, address: str) -> tuple[ExternalEraser, ...]:
    from sapwood.lifecycle.local_files import erase_local_files

    return (_CheckpointEraser(log), erase_local_files, _EngineEraser(address))


async def _remember(space: Space, agent: AgentId, at: int) -> None:
    from sapwood.config.folders import erasures_file
    from sapwood.lifecycle.erasure import append_erased

    await asyncio.to_thread(append_erased, erasures_file(), space, agent, at)


class _Archives:
    """Reads what archived conversations have, to erase their words elsewhere.

    Only their own events say to whom they sent mail.
    """

    def __init__(self, log: ErasableLog) -> None:
        self._log = log

    async def senders(self, space: Space, agent: AgentId) -> Senders:
        """The agents of the conversation of which this one is the stub. Raises `LogError`."""
        from sapwood.lifecycle.archive import archive_address, is_archive_of, read_senders

        summary = await self._log.summary(space, agent)
        address = archive_address(summary) if summary is not None else ""
        if not is_archive_of(address, space, agent):
            return {}
        return await read_senders(self._log, space, address)

    async def erase_words(self, space: Space, erased: Collection[AgentId]) -> None:
        """Replaces the words of erased agents in the archives of a space. Raises `LogError`."""
        from sapwood.lifecycle.archived_words import erase_archived_words

        await erase_archived_words(self._log, space, erased)

    async def refuse_restores(self, space: Space, erased: Collection[AgentId]) -> None:
        """Refuses restores that have read an archive with words of these agents before."""
        from sapwood.lifecycle.archived_words import refuse_restores

        await refuse_restores(self._log, space, erased)


async def _delete_archive(space: Space, agent: AgentId, address: str) -> None:
    from sapwood.lifecycle.archive import delete_object, is_archive_of

    if is_archive_of(address, space, agent):
        await delete_object(address)


class _CheckpointEraser:
    """Deletes the checkpoints of an agent.

    Earlier versions kept them by the id alone. Those stay if an agent of another space has the id.
    """

    def __init__(self, log: ErasableLog) -> None:
        self._log = log

    async def __call__(self, space: Space, item: ErasureItem) -> None:
        from sapwood.workspace.checkpoints import checkpoint_store

        own, old = (checkpoint_store.ref_of(item.agent, each) for each in (space, None))
        for ref in await asyncio.to_thread(checkpoint_store.stored_refs, own, old):
            if ref == own or not await self._is_elsewhere(space, item.agent):
                await asyncio.to_thread(checkpoint_store.erase_checkpoints, ref)

    async def _is_elsewhere(self, space: Space, agent: AgentId) -> bool:
        page = await self._log.spaces()
        while page:
            for each in page:
                if each != space and await self._log.summary(each, agent) is not None:
                    return True
            page = await self._log.spaces(after=page[-1])
        return False


class _EngineEraser:
    """Deletes agents from the tables of the durable engine."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def __call__(self, space: Space, item: ErasureItem) -> None:
        """Deletes the agent, and what a file of the engine still has of it."""
        from sapwood.engine.wake_database import erase_wakes, scrub_engine

        await erase_wakes(self._address, space, item.agent)
        await asyncio.to_thread(scrub_engine, self._address)
