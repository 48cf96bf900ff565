"""The log in a PostgreSQL database. It passes each call to the module that has the statements."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from sapwood.core.erasure import Erasure, Hold, Senders, UnfinishedErasure
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import (
    AgentSummary,
    Commit,
    Cursor,
    Order,
    Receipt,
    SearchHit,
    Snapshot,
    TailedEvent,
)
from sapwood.store.postgres import agent_table, erasure_table, event_table, schema
from sapwood.store.postgres.commit_notifier import CommitNotifier, Topic
from sapwood.store.postgres.commit_queue import CommitJob
from sapwood.store.postgres.connections import Reader, ReaderPool, Server
from sapwood.store.postgres.database_errors import AvailabilityCallback
from sapwood.store.postgres.epochs import shift_of
from sapwood.store.postgres.fulltext import FulltextIndexer, search_words
from sapwood.store.postgres.group_commit import WriterPool
from sapwood.store.postgres.leader_lock import AdvisoryLock, try_lock
from sapwood.store.postgres.limit_table import LimitTable
from sapwood.store.postgres.live_events import LiveEvents
from sapwood.store.postgres.scrub import scrub_tables
from sapwood.store.postgres.space_wall import WalledPool, walled_server
from sapwood.store.postgres.token_table import TokenTable

__all__ = ["PostgresLog"]

_RECEIPT = "SELECT data FROM sapwood.receipts WHERE space = $1 AND command = $2"
_SCANNERS = 4
_receipt = msgspec.json.Decoder(Receipt)


class PostgresLog:
    """A log in the schema `sapwood` of a database.

    Use it only on the event loop that opened it. `tokens` and `limits` are those of the servers.
    """

    def __init__(
        self,
        server: Server,
        readers: ReaderPool,
        writers: int,
        poll: float,
        shift: int,
        walled: Server | None = None,
        walled_readers: int = 4,
    ) -> None:
        self._readers = readers
        self._scanners = ReaderPool(server, _SCANNERS, whole_space=True)
        self._walls: list[ReaderPool] = []
        self._space_readers, space_scanners = readers, self._scanners
        if walled is not None:
            self._space_readers = WalledPool(walled, walled_readers)
            space_scanners = WalledPool(walled, _SCANNERS, whole_space=True)
            self._walls = [self._space_readers, space_scanners]
        self._writers = WriterPool(server, writers, self._announce)
        self._server = server
        self._notifier = CommitNotifier(server)
        self._live_events = LiveEvents(
            self._space_readers, space_scanners, self._notifier, poll, shift
        )
        self._indexer = FulltextIndexer(self._scanners, shift)
        self.tokens = TokenTable(readers, self._notifier)
        self.limits = LimitTable(readers)

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
        on_availability: AvailabilityCallback | None = None,
        migrate: bool = False,
        reader: str = "",
    ) -> "PostgresLog":
        """Opens the database at an address such as `postgresql://me@localhost/team`.

        Creates the tables in an empty database. With `migrate`, also migrates an older one; the
        login must own the tables. A call waits `patience`
        seconds for a server that does not answer; this call waits `opening` seconds, if given.
        `on_availability` is called with False when the server is lost, and with True when it
        answers again. Followers also check for new events every `poll` seconds, in case a
        notification was lost. `writers` and `readers` limit the number of connections. `reader` is
        the address for a login of the role `sapwood_reader`, by which spaces are then read.

        Raises `LogError` if the server cannot be reached or the database cannot be used.
        """
        server = Server(dsn, patience if opening is None else opening, on_availability)
        pool = ReaderPool(server, readers)
        try:
            await pool.use(schema.migrate if migrate else schema.require_schema)
            shift = await pool.use(shift_of)
            walled = await walled_server(reader, patience, on_availability) if reader else None
        except BaseException:
            await pool.close()
            raise
        server.patience = patience
        return cls(server, pool, writers, poll, shift, walled, readers)

    @property
    def is_listening(self) -> bool:
        """Whether commits of other processes are notified to this one now."""
        return self._notifier.listening

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipt durably, or nothing.

        Returns None, or the earlier receipt if the command was stored before. Raises
        `VersionConflict` if an agent is not at its expected version, and `LogError` if the database
        fails.
        """
        return await self._writers.commit(space, commit)

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The receipt of this command, or None if it was never stored."""
        row = await self._of(space).fetchrow(_RECEIPT, space, command)
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
        """Events of one agent from version `first` to `last`, newest first if `backward`."""
        return await event_table.read_part(
            self._of(space).fetch, space, agent, first, last, limit, backward
        )

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        """The newest snapshot of this schema, at or before version `at` if given."""
        return await event_table.find_snapshot(self._of(space), space, agent, schema, at)

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Stores a snapshot. A lost snapshot only slows the next open."""
        await event_table.insert_snapshot(self._readers, space, snapshot)

    async def facts(self, space: Space, agent: AgentId) -> AgentSummary | None:
        """The summary of one agent, or None if there is no such agent."""
        return await agent_table.find_summary(self._of(space), space, agent)

    async def agents(
        self,
        space: Space,
        *,
        after: AgentSummary | None = None,
        limit: int = 100,
        parent: AgentId | None = None,
        status: str | None = None,
        owner: str = "",
        label: str = "",
        order: Order = "created",
    ) -> list[AgentSummary]:
        """A page of agents after the last one seen, newest first."""
        options = (space, after, limit, parent, status, owner, label, order)
        if order == "created" or not self._walls:
            return await agent_table.list_agents(self._of(space), *options)
        # An index over computed values is of no use under row-level security.
        found = await agent_table.list_agents(self._readers, *options)
        return await agent_table.visible(self._of(space), space, found)

    async def conversations(
        self,
        space: Space,
        folder: str,
        *,
        after: AgentSummary | None = None,
        limit: int = 100,
        status: str | None = None,
    ) -> list[AgentSummary]:
        """A page of the root agents of a folder after the last one seen, latest event first."""
        return await agent_table.list_folder(self._of(space), space, folder, after, limit, status)

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[AgentSummary]:
        """A page of the running agents that have work to do, ordered by id."""
        return await agent_table.list_working(self._of(space), space, after, limit)

    async def working_spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces in which an agent has work to do, ordered by name."""
        return await agent_table.working_spaces(self._readers, after, limit)

    async def find(self, space: Space, name: str, limit: int = 10) -> list[AgentSummary]:
        """The agent with this id, or else agents with this name, or else ids with this prefix."""
        return await agent_table.find_agents(self._of(space), space, name, limit)

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        return await agent_table.ancestors(self._of(space), space, agent)

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        return await agent_table.descendants(self._of(space), space, agent)

    async def family(self, space: Space, agent: AgentId) -> list[AgentSummary]:
        """The root of the agent and all its descendants, parents before their children."""
        return await agent_table.family(self._of(space), space, agent)

    def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        return self._live_events.follow(space, agent, after)

    def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[TailedEvent]:
        """Every event of a space after a cursor, then each new one as it is committed."""
        return self._live_events.tail(space, after or Cursor())

    async def end(self, space: Space) -> Cursor:
        """The cursor after all events of a space that a tail could yield now."""
        return await self._live_events.end(space)

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[SearchHit]:
        """Events that contain these words, best match first; includes everything committed."""
        await self._indexer.catch_up(space)
        fetch, look_up = self._of(space).fetch, self._readers.fetch
        return await search_words(fetch, space, query, agents, limit, offset, look_up)

    async def begin_erasure(
        self, space: Space, erasure: Erasure, agents: Sequence[AgentId]
    ) -> None:
        """Stores the record of an erasure and the agents that it is about."""
        await erasure_table.begin_erasure(self._readers, space, erasure, agents)

    async def unfinished_erasures(self) -> list[UnfinishedErasure]:
        """The unfinished erasures of all spaces, with their agents."""
        return await erasure_table.list_unfinished(self._readers)

    async def erase_agent(
        self, space: Space, erasure: str, agent: AgentId, archived: Senders | None = None
    ) -> frozenset[AgentId]:
        """Deletes everything of an agent, and plans the erasure of its children.

        Replaces its words in the logs of others, and returns these others. If it is the stub of an
        archived conversation, `archived` has the agents of that, and to whom each sent mail: their
        words are replaced too.
        """
        others = await self._readers.use(
            lambda on: erasure_table.erase_agent(on, space, erasure, agent, archived or {})
        )
        self._notifier.notify({(space, None), *((space, other) for other in others)})
        return others

    async def clear_space(self, space: Space, erasure: str) -> None:
        """Deletes what a space has beside its agents."""
        await erasure_table.clear_space(self._readers, space, erasure)

    async def erase_words(self, space: Space, erasure: str) -> None:
        """Deletes the long texts that no event refers to any more. Their words are gone already."""
        await erasure_table.erase_contents(self._readers, space, erasure)

    async def forget_agents(self, erasure: str) -> None:
        """Deletes the ids of what was erased."""
        await erasure_table.forget_agents(self._readers, erasure)

    async def finish_erasure(self, erasure: str, at: int) -> None:
        """Completes the record of an erasure."""
        await erasure_table.finish_erasure(self._readers, erasure, at)

    async def scrub(self, whole: bool = False) -> str:
        """Does nothing by itself: PostgreSQL removes deleted rows from its files later.

        With `whole`, writes every table again; only the owner of the tables can do that, and each
        table is locked meanwhile. Returns what remains to be done by hand.
        """
        if whole:
            return await self._readers.use(scrub_tables)
        return (
            "No query and no dump has the erased data. To remove it from the server's files too, "
            "type as the owner of the tables: sapwood erase --scrub"
        )

    async def erasures(self, space: Space) -> list[Erasure]:
        """The records of all erasures in a space, newest first."""
        return await erasure_table.list_erasures(self._of(space), space)

    async def spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces that have agents, ordered by name."""
        return await agent_table.list_spaces(self._readers, after, limit)

    async def try_lead(self, task: str) -> AdvisoryLock | None:
        """The lock of a task that one process at a time does; None if another one has it."""
        return await try_lock(self._server, task)

    async def add_hold(self, space: Space, hold: Hold) -> None:
        """Stores a legal hold."""
        await erasure_table.insert_hold(self._readers, space, hold)

    async def release_hold(self, space: Space, hold: str, by: str, at: int) -> bool:
        """Releases a hold; returns false if there is none in force with this id."""
        return await erasure_table.release_hold(self._readers, space, hold, by, at)

    async def holds(self, space: Space) -> list[Hold]:
        """The legal holds of a space, newest first; released ones too."""
        return await erasure_table.list_holds(self._of(space), space)

    async def close(self) -> None:
        """Finishes submitted commits, ends followers and closes every connection."""
        await self._writers.close()
        await self._indexer.close()
        await self._notifier.close()
        for pool in (*self._walls, self._scanners, self._readers):
            await pool.close()

    def _of(self, space: Space) -> Reader:
        return self._space_readers.of(space)

    def _announce(self, jobs: Sequence[CommitJob]) -> None:
        topics: set[Topic] = {(job.space, None) for job in jobs}
        for job in jobs:
            topics.update((job.space, append.agent) for append in job.commit.appends)
        self._notifier.notify(topics)
        self._indexer.schedule(job.space for job in jobs)
