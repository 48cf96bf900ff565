"""The log in a PostgreSQL database, put together from its parts."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log import Commit, Cursor, Facts, Hit, Receipt, Snapshot, Tailed
from sapwood.store.postgres import listing, reading, snapshots
from sapwood.store.postgres.job import Job
from sapwood.store.postgres.migrating import migrate
from sapwood.store.postgres.sessions import Readers, Server
from sapwood.store.postgres.writing import Writers

__all__ = ["PostgresLog"]

_RECEIPT = "SELECT data FROM sapwood.receipts WHERE space = $1 AND command = $2"
_receipt = msgspec.json.Decoder(Receipt)


class PostgresLog:
    """A log in the schema `sapwood` of a database. Belongs to the event loop that opened it."""

    def __init__(self, server: Server, readers: Readers, writers: int) -> None:
        self._readers = readers
        self._writers = Writers(server, writers, self._publish)

    @classmethod
    async def open(
        cls, dsn: str, *, patience: float = 30.0, writers: int = 2, readers: int = 8
    ) -> "PostgresLog":
        """Opens the database at an address such as `postgresql://me@localhost/team`.

        An empty database gets its tables, an older one is migrated. `patience` is how many seconds
        a call waits for a server that is away. `writers` and `readers` limit the sessions.
        """
        server = Server(dsn, patience)
        pool = Readers(server, readers)
        await pool.open()
        await pool.use(migrate)
        return cls(server, pool, writers)

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
        return await reading.read(self._readers, space, agent, first, last, limit, backward)

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

    async def find(self, space: Space, name: str, limit: int = 10) -> list[Facts]:
        """Agents whose id starts with this, or whose name it is; an exact id comes alone."""
        return await listing.find(self._readers, space, name, limit)

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        return await listing.ancestors(self._readers, space, agent)

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        return await listing.descendants(self._readers, space, agent)

    async def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        raise NotImplementedError
        yield

    async def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[Tailed]:
        """Every event of a space after a cursor, then each new one as it is committed."""
        raise NotImplementedError
        yield

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Hit]:
        """Where these words stand, best first."""
        raise NotImplementedError

    async def close(self) -> None:
        """Finishes what was begun and closes every session."""
        await self._writers.close()
        await self._readers.close()

    def _publish(self, jobs: Sequence[Job]) -> None:
        pass
