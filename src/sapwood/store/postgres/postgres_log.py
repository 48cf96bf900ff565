"""The log in a PostgreSQL database. It passes each call to the module that has the statements."""

from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from functools import wraps
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from sapwood import meaning
from sapwood.core.erasure import Erasure, Hold, Senders, UnfinishedErasure
from sapwood.core.errors import SpaceMoved, SpaceStopped
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import AwaitWatcher, LiveWords
from sapwood.core.log_values import (
    AgentSummary,
    AvailabilityListener,
    Commit,
    Cursor,
    Order,
    Receipt,
    SearchHit,
    Snapshot,
    TailedEvent,
)
from sapwood.core.search_query import read_query
from sapwood.store.master_keys import KeyChanged, MasterKeys
from sapwood.store.postgres import agent_table, erasure_table, event_table, schema
from sapwood.store.postgres.cell_directory import CellFence
from sapwood.store.postgres.commit_notifier import (
    AdvisoryLock,
    CommitNotifier,
    Topic,
    watchers_of,
    words_of,
)
from sapwood.store.postgres.commit_queue import CommitJob, job_of
from sapwood.store.postgres.connections import Reader, ReaderPool, Server, require_settings
from sapwood.store.postgres.cursor_places import CursorPlaces
from sapwood.store.postgres.erasure_table import scrub_tables
from sapwood.store.postgres.fulltext import PostgresIndexer, search_words
from sapwood.store.postgres.group_commit import WriterPool
from sapwood.store.postgres.key_table import KeyTable, list_keys, renew_keys
from sapwood.store.postgres.live_events import LiveEvents
from sapwood.store.postgres.live_word_table import LiveWordReader, LiveWordWriter
from sapwood.store.postgres.meaning_table import sign_events
from sapwood.store.postgres.move_table import is_interrupted, require_here, when_here
from sapwood.store.postgres.schema import WalledPool, shift_of, walled_server
from sapwood.store.postgres.settled import Settled
from sapwood.store.postgres.token_table import LimitTable, TokenTable
from sapwood.store.space_cipher import (
    SpaceCipher,
    key_is_missing,
    open_receipt,
    open_summary,
    stored_name,
)

_RECEIPT = "SELECT data FROM sapwood.receipts WHERE space = $1 AND command = $2"
_EXPIRE = "SELECT sapwood.expire_receipts($1, $2) AS gone"
_EXPIRED_AT_ONCE = 1_000
_KEY_TRIES = 4
_receipt = msgspec.json.Decoder(Receipt)

P = ParamSpec("P")
T = TypeVar("T")


def _in_database(
    work: "Callable[Concatenate[ReaderPool, P], CoroutineType[Any, Any, T]]",
) -> "Callable[Concatenate[PostgresLog, P], CoroutineType[Any, Any, T]]":
    """Returns a method of the log that does this on a connection that sees all spaces."""

    @wraps(work)
    async def run(self: "PostgresLog", *args: P.args, **kwargs: P.kwargs) -> T:
        readers = self._readers  # pyright: ignore[reportPrivateUsage] # its own method
        return await work(readers, *args, **kwargs)

    return run


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
        sizes: tuple[int, int] = (2, 1),
        masters: MasterKeys | None = None,
        fence: CellFence | None = None,
    ) -> None:
        self._fence = fence
        self._patience = server.patience
        self._readers = readers
        self._keys = None if masters is None else KeyTable(readers, masters)
        reading, scanning = sizes
        self._scanners = ReaderPool(server, scanning, whole_space=True)
        self._walls: list[ReaderPool] = []
        self._space_readers, space_scanners = readers, self._scanners
        if walled is not None:
            self._space_readers = WalledPool(walled, reading)
            space_scanners = WalledPool(walled, scanning, whole_space=True)
            self._walls = [self._space_readers, space_scanners]
        self._writers = WriterPool(server, writers, self._announce)
        self._live_words = LiveWordWriter(readers)
        self._word_reader = LiveWordReader(self._space_readers)
        self._notifier = CommitNotifier(server)
        self._shift = shift
        settled = Settled(self._scanners, shift)
        self._places = CursorPlaces(self._scanners, space_scanners, settled)
        self._live_events = LiveEvents(
            *(self._space_readers, space_scanners, self._places),
            *(self._notifier, poll, settled, self._word_reader, self._keys, self.require_here),
        )
        self._indexer = PostgresIndexer(self._scanners, shift, self._keys)
        self.tokens = TokenTable(readers, self._notifier)
        self.limits = LimitTable(readers)

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        patience: float = 30.0,
        opening: float | None = None,
        writers: int = 2,
        readers: int = 2,
        scanners: int = 1,
        poll: float = 5.0,
        on_availability: AvailabilityListener | None = None,
        migrate: bool = False,
        reader: str = "",
        masters: MasterKeys | None = None,
        fence: CellFence | None = None,
    ) -> "PostgresLog":
        """Opens the database at an address such as `postgresql://me@localhost/team`.

        Creates the tables in an empty database. With `migrate`, also migrates an older one; the
        login must own the tables. A call waits `patience` seconds for a server that does not
        answer; this call waits `opening` seconds, if given. Followers also check for new events
        every `poll` seconds, in case a notification was lost. `writers`, `readers` and `scanners`,
        which read whole spaces, limit the number of connections; there is one more that listens.
        `reader` is the address for a login of the role `sapwood_reader`, by
        which spaces are then read. `masters` are the keys of encrypted spaces. `fence` refuses
        spaces that another cell has.

        Raises `LogError` if the server cannot be reached or the database cannot be used.
        """
        server = Server(dsn, patience if opening is None else opening, on_availability)
        pool = ReaderPool(server, readers)
        try:
            if server.is_pooled:
                await pool.use(require_settings)
            await pool.use(schema.migrate if migrate else schema.require_schema)
            shift = await pool.use(shift_of)
            walled = await walled_server(reader, patience, on_availability) if reader else None
        except BaseException:
            await pool.close()
            raise
        server.patience = patience
        return cls(server, pool, writers, poll, shift, walled, (readers, scanners), masters, fence)

    space_keys = _in_database(list_keys)
    renew_keys = _in_database(renew_keys)
    spaces = _in_database(agent_table.list_spaces)
    working_spaces = _in_database(agent_table.working_spaces)
    clear_space = _in_database(erasure_table.clear_space)
    erase_words = _in_database(erasure_table.erase_contents)
    forget_agents = _in_database(erasure_table.forget_agents)
    finish_erasure = _in_database(erasure_table.finish_erasure)
    add_hold = _in_database(erasure_table.insert_hold)
    release_hold = _in_database(erasure_table.release_hold)

    @property
    def is_listening(self) -> bool:
        """Whether commits of other processes are notified to this one now."""
        return self._notifier.listening

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipt durably, or nothing.

        Returns None, or the earlier receipt if the command was stored before. Waits while the space
        is stopped to be moved. Raises `VersionConflict` if an agent is not at its expected version,
        `SpaceMoved` if another database has the space, and `LogError` if the database fails.
        """
        return await self._when_here(space, lambda: self._commit(space, commit))

    async def _when_here(self, space: Space, action: Callable[[], Awaitable[T]]) -> T:
        try:
            if self._fence is not None:
                await self._fence.require_here(space)
            return await when_here(self._readers, space, action, self._patience)
        except SpaceMoved:
            if self._fence is not None:
                self._fence.forget(space)
            raise

    async def _commit(self, space: Space, commit: Commit) -> Receipt | None:
        if self._keys is None:
            try:
                return await self._writers.commit(space, commit)
            except KeyChanged as error:
                raise key_is_missing(space) from error
        for _ in range(_KEY_TRIES):
            cipher = await self._keys.for_commit(space, commit.appends)
            try:
                return await self._writers.commit(space, commit, cipher)
            except KeyChanged:
                await self._keys.read(space)
        raise KeyChanged(f"The key of the space '{space}' keeps changing. Try again.")

    async def require_here(self, space: Space) -> None:
        """Returns if this database has the space. Waits while the space is stopped to be moved.

        Raises `SpaceMoved` if another database has it, and `SpaceStopped` if the move takes long or
        the space has not arrived.
        """
        await self._when_here(space, lambda: require_here(self._readers, space))

    def announce_move(self, space: Space, agents: Iterable[AgentId]) -> None:
        """Wakes everybody who follows the space or one of these agents."""
        self._notifier.notify({(space, None), *((space, agent) for agent in agents)})

    async def seal(self, space: Space, data: bytes) -> bytes:
        cipher = await self._cipher(space)
        return data if cipher is None else cipher.seal(data, "archive")

    async def unseal(self, space: Space, data: bytes) -> bytes | None:
        cipher = await self._cipher(space)
        return None if cipher is None else cipher.open(data, "archive")

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The receipt of this command, or None if it was never stored."""
        row = await self._of(space).fetchrow(_RECEIPT, space, command)
        if row is None:
            return None
        return open_receipt(await self._cipher(space), _receipt.decode(row["data"]))

    async def late_receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The same, after a commit of this process has ended whose caller stopped waiting."""
        await self._writers.ended(space, command)
        return await self.receipt(space, command)

    async def expire_receipts(self, days: float) -> int:
        """Deletes receipts older than `days` of commands whose id Sapwood made up, in all spaces.

        Nobody repeats such a command after its turn. Those of the last day stay. Returns how many.
        """
        expired = 0
        while row := await self._scanners.fetchrow(_EXPIRE, days, _EXPIRED_AT_ONCE):
            expired += row["gone"]
            if row["gone"] < _EXPIRED_AT_ONCE:
                break
        return expired

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
            self._of(space).fetch, space, agent, first, last, limit, backward, self._keys
        )

    async def save_words(
        self,
        space: Space,
        agent: AgentId,
        version: int,
        words: LiveWords,
        before: CommandId | None,
    ) -> bool:
        """Stores the words of the reply that is arriving, in place of those before.

        They are not in the server's write-ahead log: a crash of the server loses them.
        """
        cipher = await self._cipher(space)
        saved = await self._when_here(
            space,
            lambda: self._live_words.save(space, agent, version, words, before, cipher),
        )
        if saved:
            self._notifier.notify({(space, words_of(agent))})
        return saved

    @contextmanager
    def watched_words(self, space: Space, agent: AgentId) -> Generator[AwaitWatcher]:
        """Those who watch notify this process."""
        with self._notifier.subscribe(space, watchers_of(agent)) as signal:
            yield signal.wait

    async def words(self, space: Space, agent: AgentId) -> LiveWords | None:
        return await self._word_reader.find(space, agent, await self._cipher(space))

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        cipher = await self._cipher(space)
        return await event_table.find_snapshot(self._of(space), space, agent, schema, at, cipher)

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Stores a snapshot. A lost snapshot only slows the next open."""
        cipher = await self._cipher(space)
        await event_table.insert_snapshot(self._readers, space, snapshot, cipher)

    async def summary(self, space: Space, agent: AgentId) -> AgentSummary | None:
        """The summary of one agent, or None if there is no such agent."""
        found = await agent_table.find_summary(self._of(space), space, agent)
        return None if found is None else (await self._opened(space, [found]))[0]

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
        owner = await self._stored(space, "owner", owner)
        label = await self._stored(space, "label", label)
        options = (space, after, limit, parent, status, owner, label, order)
        if order == "created" or not self._walls:
            return await self._opened(
                space, await agent_table.list_agents(self._of(space), *options)
            )
        # An index over computed values is of no use under row-level security.
        found = await agent_table.list_agents(self._readers, *options)
        return await self._opened(space, await agent_table.visible(self._of(space), space, found))

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
        stored = await self._stored(space, "folder", folder)
        found = await agent_table.list_folder(self._of(space), space, stored, after, limit, status)
        return await self._opened(space, found)

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[AgentSummary]:
        """A page of the running agents that have work to do, ordered by id."""
        found = await agent_table.list_working(self._of(space), space, after, limit)
        return await self._opened(space, found)

    async def find(self, space: Space, name: str, limit: int = 10) -> list[AgentSummary]:
        """The agent with this id, or else agents with this name, or else ids with this prefix."""
        stored = await self._stored(space, "name", name)
        found = await agent_table.find_agents(self._of(space), space, name, stored, limit)
        return await self._opened(space, found)

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        return await agent_table.ancestors(self._of(space), space, agent)

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        return await agent_table.descendants(self._of(space), space, agent)

    async def family(self, space: Space, agent: AgentId) -> list[AgentSummary]:
        """The root of the agent and all its descendants, parents before their children."""
        return await self._opened(space, await agent_table.family(self._of(space), space, agent))

    def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        return self._live_events.follow(space, agent, after)

    def watch(
        self, space: Space, agent: AgentId, after: int = 0
    ) -> AsyncIterator[Recorded | LiveWords]:
        """As `follow`, and the words of the reply that is arriving whenever there are more."""
        return self._live_events.watch(space, agent, after)

    def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[TailedEvent]:
        """Every event of a space after a cursor, then each new one as it is committed."""
        return self._live_events.tail(space, after or Cursor())

    async def end(self, space: Space) -> Cursor:
        """The cursor after all events of a space that a tail could yield now."""
        return await self._places.end(space)

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[SearchHit]:
        """Turns that have words of the query, best first; includes everything committed."""
        await self._indexer.catch_up(space)
        asked = read_query(query)
        if asked.question and meaning.extra_installed():
            await sign_events(self._scanners, space, self._shift, self._keys)
        total = await self._places.count(space) if agents is None else 0
        return await search_words(
            *(self._of(space).fetch, space, asked, agents, limit, offset, total),
            look_up=self._readers.fetch,
            keys=self._keys,
        )

    async def begin_erasure(
        self, space: Space, erasure: Erasure, agents: Sequence[AgentId]
    ) -> None:
        """Stores the record of an erasure and the agents that it is about.

        Raises `SpaceStopped` while the space is being moved, and if its move was interrupted.
        """
        try:
            await erasure_table.begin_erasure(self._readers, space, erasure, agents)
        except SpaceStopped as stopped:
            if await is_interrupted(self._readers, space):
                raise SpaceStopped(space, interrupted=True) from stopped
            raise

    async def unfinished_erasures(self) -> list[UnfinishedErasure]:
        """The unfinished erasures of all spaces, with their agents."""
        return await erasure_table.list_unfinished(self._readers, self._keys)

    async def erase_agent(
        self, space: Space, erasure: str, agent: AgentId, archived: Senders | None = None
    ) -> frozenset[AgentId]:
        """Deletes everything of an agent, and plans the erasure of its children.

        Replaces its words in the logs of others, and returns these others. If it is the stub of an
        archived conversation, `archived` has the agents of that, and to whom each sent mail: their
        words are replaced too.
        """
        others = await self._readers.use(
            lambda on: erasure_table.erase_agent(
                on, space, erasure, agent, archived or {}, self._keys
            )
        )
        self._notifier.notify({(space, None), *((space, other) for other in others)})
        return others

    async def replace_agents(
        self, space: Space, erasure: Erasure, expected: Mapping[AgentId, int], commit: Commit
    ) -> None:
        """Deletes agents that are at these versions, and stores a commit, together or not at all.

        Raises `VersionConflict` if something was added to one of them.
        """
        cipher = None if self._keys is None else await self._keys.for_commit(space, commit.appends)
        job = job_of(space, commit, 0, cipher)
        await self._when_here(
            space,
            lambda: self._readers.use(
                lambda on: erasure_table.replace_agents(
                    on, space, erasure, expected, job, self._keys
                )
            ),
        )
        self._announce([job])
        self._notifier.notify({(space, agent) for agent in expected})

    async def scrub(self, whole: bool = False) -> str:
        """Does nothing by itself: PostgreSQL removes deleted rows from its files later.

        With `whole`, writes every table again; only the owner of the tables can do that, and each
        table is locked meanwhile. Returns what remains to be done by hand.
        """
        if whole:
            return await self._readers.use(scrub_tables)
        return (
            "The erased data is gone from all queries and dumps. To remove it from the server's "
            "files too, type this as the owner of the tables: sapwood erase --scrub"
        )

    async def erasures(self, space: Space) -> list[Erasure]:
        """The records of all erasures in a space, newest first."""
        return await erasure_table.list_erasures(self._of(space), space)

    async def holds(self, space: Space) -> list[Hold]:
        """The legal holds of a space, newest first; released ones too."""
        return await erasure_table.list_holds(self._of(space), space)

    async def try_lead(self, task: str) -> AdvisoryLock | None:
        """The lock of a task that one process at a time does; None if another one has it."""
        return await self._notifier.try_lock(task)

    async def close(self) -> None:
        """Finishes submitted commits, ends followers and closes every connection."""
        await self._writers.close()
        await self._live_words.close()
        await self._indexer.close()
        await self._places.close()
        await self._notifier.close()
        for pool in (*self._walls, self._scanners, self._readers):
            await pool.close()
        if self._fence is not None:
            await self._fence.close()

    async def _cipher(self, space: Space) -> SpaceCipher | None:
        return None if self._keys is None else await self._keys.of(space)

    async def _stored(self, space: Space, what: str, text: str) -> str:
        """A name as the tables have it."""
        if self._keys is None or not text:
            return text
        return stored_name(await self._keys.of(space), what, text)

    async def _opened(self, space: Space, found: list[AgentSummary]) -> list[AgentSummary]:
        """The summaries with their words."""
        if self._keys is None:
            return [open_summary(None, space, each) for each in found]
        return await self._keys.opened(space, found)

    def _of(self, space: Space) -> Reader:
        return self._space_readers.of(space)

    def _announce(self, jobs: Sequence[CommitJob]) -> None:
        stored: Counter[Space] = Counter()
        topics: set[Topic] = set()
        for job in jobs:
            for append in job.commit.appends:
                topics.add((job.space, append.agent))
                stored[job.space] += len(append.events)
        topics.update((space, None) for space in stored)
        self._notifier.notify(topics)
        self._indexer.schedule(stored)
        self._places.schedule(stored)
