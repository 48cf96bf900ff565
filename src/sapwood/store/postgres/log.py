"""The log in a PostgreSQL database, put together from its parts."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log import Commit, Cursor, Facts, Hit, Receipt, Snapshot, Tailed
from sapwood.store.postgres import listing, reading, searching, snapshots
from sapwood.store.postgres.bell import Bell, Place
from sapwood.store.postgres.epochs import shift_of
from sapwood.store.postgres.following import Following
from sapwood.store.postgres.job import Job
from sapwood.store.postgres.migrating import migrate
from sapwood.store.postgres.presence import Tell
from sapwood.store.postgres.projecting import Projector
from sapwood.store.postgres.sessions import Readers, Server
from sapwood.store.postgres.writing import Writers

__all__ = ["PostgresLog"]

_RECEIPT = "SELECT data FROM sapwood.receipts WHERE space = $1 AND command = $2"
_SCANNERS = 4
_receipt = msgspec.json.Decoder(Receipt)


class PostgresLog:
    """A log in the schema `sapwood` of a database. Belongs to the event loop that opened it."""

    def __init__(
        self, server: Server, readers: Readers, writers: int, poll: float, shift: int
    ) -> None:
        self._readers = readers
        self._scanners = Readers(server, _SCANNERS, across=True)
        self._writers = Writers(server, writers, self._publish)
        self._bell = Bell(server)
        self._following = Following(readers, self._scanners, self._bell, poll, shift)
        self._projector = Projector(self._scanners, shift)

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        patience: float = 30.0,
        opening: float | None = None,
        writers: int = 3,
        readers: int = 4,
        poll: float = 5.0,
        tell: Tell | None = None,
    ) -> "PostgresLog":
        """Opens the database at an address such as `postgresql://me@localhost/team`.

        An empty database gets its tables, an older one is migrated. `patience` is how many seconds
        a call waits for a server that is away, and `opening` how many this one does; `tell` hears
        that it is away and that it is back. `poll` is how often those who follow look by
        themselves, in case nobody told them. `writers` and `readers` limit the sessions.
        """
        server = Server(dsn, patience if opening is None else opening, tell)
        pool = Readers(server, readers)
        try:
            await pool.use(migrate)
            shift = await pool.use(shift_of)
        except BaseException:
            await pool.close()
            raise
        server.patience = patience
        return cls(server, pool, writers, poll, shift)

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipt durably, or nothing."""
        return await self._writers.commit(space, commit)

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The first answer to this command, if it was given before."""
        row = await self._readers.fetchrow(_RECEIPT, space, command)
        return _receipt.decode(row["data"]) if row else None

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
        return await reading.read(self._readers.fetch, space, agent, first, last, limit, backward)

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        """The newest snapshot of this schema, at or before version `at` if given."""
        return await snapshots.newest(self._readers, space, agent, schema, at)

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Keeps a snapshot."""
        await snapshots.save(self._readers, space, snapshot)

    async def facts(self, space: Space, agent: AgentId) -> Facts | None:
        """What a list shows of one agent."""
        return await listing.facts_of(self._readers, space, agent)

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
        return await listing.page(self._readers, space, after, limit, parent, status)

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
        return await listing.in_folder(self._readers, space, folder, after, limit, status)

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[Facts]:
        """A page of the running agents that have work to do, by their ids."""
        return await listing.working(self._readers, space, after, limit)

    async def find(self, space: Space, name: str, limit: int = 10) -> list[Facts]:
        """Agents whose id starts with this, or whose name it is; an exact id comes alone."""
        return await listing.find(self._readers, space, name, limit)

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        return await listing.ancestors(self._readers, space, agent)

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        return await listing.descendants(self._readers, space, agent)

    def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        return self._following.follow(space, agent, after)

    def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[Tailed]:
        """Every event of a space after a cursor, then each new one as it is committed."""
        return self._following.tail(space, after or Cursor())

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
        await self._projector.catch_up(space)
        fetch = self._readers.fetch
        return await searching.search(fetch, space, query, agents, limit, offset)

    async def close(self) -> None:
        """Finishes what was begun and closes every session."""
        await self._writers.close()
        await self._projector.close()
        await self._bell.close()
        await self._scanners.close()
        await self._readers.close()

    def _publish(self, jobs: Sequence[Job]) -> None:
        places: set[Place] = {(job.space, None) for job in jobs}
        for job in jobs:
            places.update((job.space, append.agent) for append in job.commit.appends)
        self._bell.ring(places)
        self._projector.later(job.space for job in jobs)
