"""The log as the runtime sees it: every call handed to the writer or to the readers."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log import Commit, Cursor, Facts, Hit, Receipt, Snapshot, Tailed
from sapwood.store.sqlite import agents as listing
from sapwood.store.sqlite.commits import find_receipt, rows_of, store
from sapwood.store.sqlite.connection import connect, make_private
from sapwood.store.sqlite.errors import explained
from sapwood.store.sqlite.events import read_after, read_part
from sapwood.store.sqlite.indexing import Indexing
from sapwood.store.sqlite.readers import Readers
from sapwood.store.sqlite.schema import prepare
from sapwood.store.sqlite.snapshots import find_snapshot, insert_snapshot
from sapwood.store.sqlite.watch import Watch
from sapwood.store.sqlite.words import find_words
from sapwood.store.sqlite.writer import Writer

__all__ = ["SqliteLog"]

_PAGE = 500
"""Events read at once for somebody who follows."""


class SqliteLog:
    """A log in a file that several processes may share. Belongs to the loop that opened it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._readers = Readers(path)
        self._writer = Writer(connection, path)
        self._watch = Watch(path, self._readers)
        self._indexing = Indexing(self._readers, self._writer)

    @classmethod
    async def open(cls, path: Path | str) -> "SqliteLog":
        """Opens the log in this file, and makes the file if there is none."""
        return cls(*await asyncio.to_thread(_open, Path(path)))

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipt durably, or nothing."""
        rows = rows_of(space, commit)

        def tell() -> None:
            self._watch.ring(space, [append.agent for append in commit.appends])
            self._indexing.expect()

        return await self._writer.do(lambda on: store(on, rows), tell)

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The first answer to this command, if it was given before."""
        return await self._readers.do(lambda on: find_receipt(on, space, command))

    async def read(
        self,
        space: Space,
        agent: AgentId,
        first: int = 1,
        last: int | None = None,
        *,
        limit: int | None = None,
        backward: bool = False,
    ) -> list[Recorded]:
        """Events of one agent, oldest first, or newest if `backward`."""
        return await self._readers.do(
            lambda on: read_part(on, space, agent, first, last, limit, backward)
        )

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        """The newest snapshot of this schema, at or before version `at` if given."""
        return await self._readers.do(lambda on: find_snapshot(on, space, agent, schema, at))

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Keeps a snapshot."""
        await self._writer.do(lambda on: insert_snapshot(on, space, snapshot), durable=False)

    async def facts(self, space: Space, agent: AgentId) -> Facts | None:
        """What a list shows of one agent."""
        return await self._readers.do(lambda on: listing.find_facts(on, space, agent))

    async def agents(
        self,
        space: Space,
        *,
        after: Facts | None = None,
        limit: int = 100,
        parent: AgentId | None = None,
        status: str | None = None,
    ) -> list[Facts]:
        """A page of agents, newest first, going on after the last one seen."""
        return await self._readers.do(
            lambda on: listing.list_agents(on, space, after, limit, parent, status)
        )

    async def conversations(
        self,
        space: Space,
        folder: str,
        *,
        after: Facts | None = None,
        limit: int = 100,
        status: str | None = None,
    ) -> list[Facts]:
        """A page of the root agents of a folder, last written to first."""
        return await self._readers.do(
            lambda on: listing.list_folder(on, space, folder, after, limit, status)
        )

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[Facts]:
        """A page of the running agents that have work to do, by their ids."""
        return await self._readers.do(lambda on: listing.list_working(on, space, after, limit))

    async def find(self, space: Space, name: str, limit: int = 10) -> list[Facts]:
        """Agents whose id starts with this, or whose name it is; an exact id comes alone."""
        return await self._readers.do(lambda on: listing.find_agents(on, space, name, limit))

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        return await self._readers.do(lambda on: listing.ancestors(on, space, agent))

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        return await self._readers.do(lambda on: listing.descendants(on, space, agent))

    async def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        with self._watch.bell(space, agent) as bell:
            while not self._watch.closed:
                bell.clear()
                page = await self.read(space, agent, after + 1, limit=_PAGE)
                for recorded in page:
                    yield recorded
                    after = recorded.version
                if len(page) < _PAGE:
                    await bell.wait()

    async def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[Tailed]:
        """Every event of a space after a cursor, then each new one as it is committed.

        One writer at a time holds the file, so positions are given in the order of commits.
        """
        position = after.position if after else 0
        with self._watch.bell(space, None) as bell:
            while not self._watch.closed:
                bell.clear()
                page = await self._readers.do(
                    lambda on, seen=position: read_after(on, space, seen, _PAGE)
                )
                for tailed in page:
                    yield tailed
                    position = tailed.cursor.position
                if len(page) < _PAGE:
                    await bell.wait()

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Hit]:
        """Where these words stand, best first. Sees everything committed before the call."""
        await self._indexing.complete()
        return await self._readers.do(
            lambda on: find_words(on, space, query, agents, limit, offset)
        )

    async def close(self) -> None:
        """Waits for what was handed over, then lets go of the file."""
        await self._watch.close()
        await self._indexing.close()
        await self._readers.close()
        await self._writer.close()


def _open(path: Path) -> tuple[sqlite3.Connection, Path]:
    path = path.expanduser().absolute()  # whatever folder the process changes to
    make_private(path)
    with explained(path):
        connection = connect(path)
        try:
            prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection, path
