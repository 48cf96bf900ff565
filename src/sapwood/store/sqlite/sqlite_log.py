"""The log in an SQLite file. It passes each call to the writer or to the reader threads."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from weakref import finalize

from sapwood.core.erasure import Erasure, Hold, Senders, UnfinishedErasure
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
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
from sapwood.core.search_query import read_query
from sapwood.core.text_size import is_large
from sapwood.store.master_keys import KeyChanged, MasterKeys, SpaceKey, StoredKeys
from sapwood.store.space_cipher import SpaceCipher, open_summary, stored_name
from sapwood.store.sqlite import agent_table, erasure_table
from sapwood.store.sqlite.commit_rows import find_receipt, rows_of, store
from sapwood.store.sqlite.commit_watcher import CommitWatcher
from sapwood.store.sqlite.connections import (
    TEMPORARY,
    FileLock,
    ReaderPool,
    connect,
    make_private,
    translated_errors,
    try_lock,
)
from sapwood.store.sqlite.cursor_places import count_page, event_count, is_behind, place_of
from sapwood.store.sqlite.erasure_table import scrub
from sapwood.store.sqlite.event_table import (
    find_snapshot,
    find_words,
    insert_snapshot,
    read_after,
    read_part,
    save_words,
)
from sapwood.store.sqlite.fulltext import (
    FulltextIndexer,
    begin_rebuild,
    rebuild_page,
    search_words,
)
from sapwood.store.sqlite.key_table import (
    cipher_of,
    is_empty,
    list_keys,
    make_key,
    renew_keys,
)
from sapwood.store.sqlite.schema import prepare
from sapwood.store.sqlite.writer import Writer

_KEY_TRIES = 4
_PAGE = 500
"""How many events a follower reads at once."""


class SqliteLog:
    """A log in a file that several processes may share.

    Use it only on the event loop that opened it.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, keys: StoredKeys | None = None
    ) -> None:
        self._path = path
        self._keys = keys
        self._ciphers: dict[Space, SpaceCipher | None] = {}
        self._readers = ReaderPool(path, keys)
        self._writer = Writer(connection, path, keys)
        self._watcher = CommitWatcher(path, self._readers)
        self._indexer = FulltextIndexer(self._readers, self._writer)
        self._delete: Callable[[], object] | None = None

    @classmethod
    async def open(cls, path: Path | str, *, masters: MasterKeys | None = None) -> "SqliteLog":
        """Opens the log in this file and creates the file if it is missing.

        `masters` are the keys of encrypted spaces. Raises `LogError` if the file cannot be opened
        or was not written by this or an older Sapwood.
        """
        keys = None if masters is None else StoredKeys(masters)
        return cls(*await asyncio.to_thread(_open, Path(path), keys), keys)

    @classmethod
    async def open_temporary(cls) -> "SqliteLog":
        """Opens an empty log in a private file, which is deleted with `close` or the process."""
        from shutil import rmtree
        from tempfile import mkdtemp

        folder = mkdtemp(prefix="sapwood-")
        log = await cls.open(Path(folder, TEMPORARY))
        log._delete = finalize(log, rmtree, folder, ignore_errors=True)
        return log

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipt durably, or nothing.

        Returns None, or the earlier receipt if the command was stored before. Raises
        `VersionConflict` if an agent is not at its expected version, and `LogError` if the database
        fails.
        """
        if self._keys is None:
            return await self._store(space, commit, None)
        for _ in range(_KEY_TRIES):
            cipher = await self._cipher_for(space, commit)
            try:
                return await self._store(space, commit, cipher)
            except KeyChanged:
                self._ciphers.pop(space, None)
        raise KeyChanged(f"The key of the space '{space}' keeps changing. Try again.")

    async def _store(
        self, space: Space, commit: Commit, cipher: SpaceCipher | None
    ) -> Receipt | None:
        in_thread = is_large([each.event for append in commit.appends for each in append.events])
        rows = (
            await asyncio.to_thread(rows_of, space, commit, cipher)
            if in_thread
            else rows_of(space, commit, cipher)
        )

        def notify() -> None:
            self._watcher.notify(space, [append.agent for append in commit.appends])
            self._indexer.schedule()

        return await self._writer.run(lambda on: store(on, rows), notify, in_thread=in_thread)

    async def _cipher_for(self, space: Space, commit: Commit) -> SpaceCipher | None:
        """The cipher for a commit. A new space that is to be encrypted gets its key.

        It is kept without a look at the file: the commit is refused if it is no longer right.
        """
        assert self._keys is not None
        masters = self._keys.masters
        if space not in self._ciphers:
            self._ciphers[space] = await self._readers.run(lambda on: cipher_of(on, space))
        is_new = any(not append.expected for append in commit.appends)
        if is_new and self._ciphers[space] is None and masters.encrypts(space):
            if await self._readers.run(lambda on: is_empty(on, space)):
                await self._writer.run(lambda on: make_key(on, space, masters), in_thread=True)
            self._ciphers[space] = await self._readers.run(lambda on: cipher_of(on, space))
        return self._ciphers[space]

    async def seal(self, space: Space, data: bytes) -> bytes:
        """The bytes of an archive, encrypted if the space is."""
        cipher = await self._readers.run(lambda on: cipher_of(on, space))
        return data if cipher is None else cipher.seal(data, "archive")

    async def unseal(self, space: Space, data: bytes) -> bytes | None:
        """What `seal` was given; None if it cannot be decrypted with the key of the space."""
        cipher = await self._readers.run(lambda on: cipher_of(on, space))
        return None if cipher is None else cipher.open(data, "archive")

    async def space_keys(self) -> list[tuple[Space, SpaceKey]]:
        """The wrapped keys of all encrypted spaces, ordered by space."""
        return await self._readers.run(list_keys)

    async def renew_keys(self, masters: MasterKeys) -> int:
        """Wraps the keys of all spaces with the first master key. Returns how many were changed."""
        return await self._writer.run(lambda on: renew_keys(on, masters), in_thread=True)

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The receipt of this command, or None if it was never stored."""
        return await self._readers.run(lambda on: find_receipt(on, space, command))

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
        return await self._readers.run(
            lambda on: read_part(on, space, agent, first, last, limit, backward)
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

        Without a flush: they survive the end of this process, and not a power failure.
        """
        saved = await self._writer.run(
            lambda on: save_words(on, space, agent, version, words, before), durable=False
        )
        if saved:
            self._watcher.notify_words(space, agent)
        return saved

    async def words(self, space: Space, agent: AgentId) -> LiveWords | None:
        """The words of the reply that is arriving; None if there are none."""
        return await self._readers.run(lambda on: find_words(on, space, agent))

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        """The newest snapshot of this schema, at or before version `at` if given."""
        return await self._readers.run(lambda on: find_snapshot(on, space, agent, schema, at))

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Stores a snapshot. A lost snapshot only slows the next open."""
        await self._writer.run(lambda on: insert_snapshot(on, space, snapshot), durable=False)

    async def facts(self, space: Space, agent: AgentId) -> AgentSummary | None:
        """The summary of one agent, or None if there is no such agent."""
        found = await self._readers.run(
            lambda on: _opened(on, space, [agent_table.find_summary(on, space, agent)])
        )
        return found[0] if found else None

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

        def listed(on: sqlite3.Connection) -> list[AgentSummary]:
            found = agent_table.list_agents(
                *(on, space, after, limit, parent, status),
                _stored(on, space, "owner", owner),
                _stored(on, space, "label", label),
                order,
            )
            return _opened(on, space, found)

        return await self._readers.run(listed)

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

        def listed(on: sqlite3.Connection) -> list[AgentSummary]:
            stored = _stored(on, space, "folder", folder)
            found = agent_table.list_folder(on, space, stored, after, limit, status)
            return _opened(on, space, found)

        return await self._readers.run(listed)

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[AgentSummary]:
        """A page of the running agents that have work to do, ordered by id."""
        return await self._readers.run(
            lambda on: _opened(on, space, agent_table.list_working(on, space, after, limit))
        )

    async def working_spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces in which an agent has work to do, ordered by name."""
        return await self._readers.run(lambda on: agent_table.working_spaces(on, after, limit))

    async def find(self, space: Space, name: str, limit: int = 10) -> list[AgentSummary]:
        """The agent with this id, or else agents with this name, or else ids with this prefix."""

        def found(on: sqlite3.Connection) -> list[AgentSummary]:
            stored = _stored(on, space, "name", name)
            return _opened(on, space, agent_table.find_agents(on, space, name, stored, limit))

        return await self._readers.run(found)

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        return await self._readers.run(lambda on: agent_table.ancestors(on, space, agent))

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        return await self._readers.run(lambda on: agent_table.descendants(on, space, agent))

    async def family(self, space: Space, agent: AgentId) -> list[AgentSummary]:
        """The root of the agent and all its descendants, parents before their children."""
        return await self._readers.run(
            lambda on: _opened(on, space, agent_table.family(on, space, agent))
        )

    async def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        with self._watcher.subscribe(space, agent) as commits:
            while not self._watcher.closed:
                commits.clear()
                page = await self.read(space, agent, after + 1, limit=_PAGE)
                for recorded in page:
                    yield recorded
                    after = recorded.version
                if len(page) < _PAGE:
                    await commits.wait()

    async def watch(
        self, space: Space, agent: AgentId, after: int = 0
    ) -> AsyncIterator[Recorded | LiveWords]:
        """As `follow`, and the words of the reply that is arriving whenever there are more."""
        shown = ""
        with self._watcher.subscribe(space, agent) as changes:
            while not self._watcher.closed:
                changes.clear()
                page = await self.read(space, agent, after + 1, limit=_PAGE)
                for recorded in page:
                    yield recorded
                    after = recorded.version
                if len(page) == _PAGE:
                    continue
                words = await self.words(space, agent)
                if words is not None and words.asked <= after and words.command != shown:
                    shown = words.command
                    yield words
                await changes.wait()

    async def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[TailedEvent]:
        """Every event of a space after a cursor, then each new one as it is committed.

        Only one process writes at a time, so positions have the order of commits.
        """
        count, position = 0, 0
        if after is not None:
            await self._count_events()
            count, position = await self._readers.run(lambda on: place_of(on, space, after))
        with self._watcher.subscribe(space, None) as commits:
            while not self._watcher.closed:
                commits.clear()
                page = await self._readers.run(
                    lambda on, seen=position: read_after(on, space, seen, _PAGE)
                )
                for counted, at, recorded in page:
                    count, position = count + counted, at
                    yield TailedEvent(Cursor(count), recorded)
                if len(page) < _PAGE:
                    await commits.wait()

    async def end(self, space: Space) -> Cursor:
        """The cursor after all events of a space."""
        await self._count_events()
        return Cursor(await self._readers.run(lambda on: event_count(on, space)))

    async def _count_events(self) -> None:
        """Counts the events that were not counted in the background, if they are many."""
        if await self._readers.run(is_behind):
            while await self._writer.run(count_page, durable=False):
                pass

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
        await self._indexer.catch_up()
        if self._keys is not None:
            await self._indexer.finish_rebuild(space)
        asked = read_query(query)
        return await self._readers.run(
            lambda on: search_words(on, space, asked, agents, limit, offset)
        )

    async def begin_erasure(
        self, space: Space, erasure: Erasure, agents: Sequence[AgentId]
    ) -> None:
        """Stores the record of an erasure and the agents that it is about."""
        await self._writer.run(
            lambda on: erasure_table.begin_erasure(on, space, erasure, agents), in_thread=True
        )

    async def unfinished_erasures(self) -> list[UnfinishedErasure]:
        """The unfinished erasures of all spaces, with their agents."""
        return await self._readers.run(erasure_table.list_unfinished)

    async def erase_agent(
        self, space: Space, erasure: str, agent: AgentId, archived: Senders | None = None
    ) -> frozenset[AgentId]:
        """Deletes everything of an agent, and plans the erasure of its children.

        Replaces its words in the logs of others, and returns these others. If it is the stub of an
        archived conversation, `archived` has the agents of that, and to whom each sent mail: their
        words are replaced too.
        """
        others = await self._writer.run(
            lambda on: erasure_table.erase_agent(on, space, erasure, agent, archived or {}),
            in_thread=True,
        )
        self._watcher.notify(space, others)
        return others

    async def clear_space(self, space: Space, erasure: str) -> None:
        """Deletes what a space has beside its agents."""
        await self._writer.run(
            lambda on: erasure_table.clear_space(on, space, erasure), in_thread=True
        )

    async def erase_words(self, space: Space, erasure: str) -> None:
        """Makes the word index of a space again, without the words of erased events."""
        await self._writer.run(lambda on: begin_rebuild(on, space), in_thread=True)
        while await self._writer.run(lambda on: rebuild_page(on, space), in_thread=True):
            pass

    async def forget_agents(self, erasure: str) -> None:
        """Deletes the ids of what was erased."""
        await self._writer.run(lambda on: erasure_table.forget_agents(on, erasure), in_thread=True)

    async def finish_erasure(self, erasure: str, at: int) -> None:
        """Completes the record of an erasure."""
        await self._writer.run(
            lambda on: erasure_table.finish_erasure(on, erasure, at), in_thread=True
        )

    async def scrub(self, whole: bool = False) -> str:
        """Writes the file again without what was deleted, and empties the WAL file.

        Returns what still has to be done by hand; empty if nothing.
        """
        await asyncio.to_thread(scrub, self._path)
        return ""

    async def erasures(self, space: Space) -> list[Erasure]:
        """The records of all erasures in a space, newest first."""
        return await self._readers.run(lambda on: erasure_table.list_erasures(on, space))

    async def spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces that have agents, ordered by name."""
        return await self._readers.run(lambda on: agent_table.list_spaces(on, after, limit))

    async def try_lead(self, task: str) -> FileLock | None:
        """The lock of a task that one process at a time does; None if another one has it."""
        with translated_errors(self._path):
            return try_lock(self._path, task)

    async def add_hold(self, space: Space, hold: Hold) -> None:
        """Stores a legal hold."""
        await self._writer.run(
            lambda on: erasure_table.insert_hold(on, space, hold), in_thread=True
        )

    async def release_hold(self, space: Space, hold: str, by: str, at: int) -> bool:
        """Releases a hold; returns false if there is none in force with this id."""
        return await self._writer.run(
            lambda on: erasure_table.release_hold(on, space, hold, by, at), in_thread=True
        )

    async def holds(self, space: Space) -> list[Hold]:
        """The legal holds of a space, newest first; released ones too."""
        return await self._readers.run(lambda on: erasure_table.list_holds(on, space))

    async def close(self) -> None:
        """Ends followers, finishes submitted commits and closes the file."""
        await self._watcher.close()
        await self._indexer.close()
        await self._readers.close()
        await self._writer.close()
        if self._delete is not None:
            self._delete()


def _opened(
    connection: sqlite3.Connection, space: Space, found: Sequence[AgentSummary | None]
) -> list[AgentSummary]:
    """The summaries with their words."""
    cipher = cipher_of(connection, space)
    return [open_summary(cipher, space, each) for each in found if each is not None]


def _stored(connection: sqlite3.Connection, space: Space, what: str, text: str) -> str:
    return stored_name(cipher_of(connection, space), what, text) if text else ""


def _open(path: Path, keys: StoredKeys | None) -> tuple[sqlite3.Connection, Path]:
    path = path.expanduser().absolute()  # the process may change its folder later
    make_private(path)
    with translated_errors(path):
        connection = connect(path, keys=keys)
        try:
            prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection, path
