"""The log in an SQLite file. It passes each call to the writer or to the reader threads."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from sqlite3 import Connection
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import finalize

from sapwood import meaning
from sapwood.core.erasure import Erasure, Senders
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import AwaitWatcher, LiveWords, always_watched
from sapwood.core.log_values import (
    Commit,
    Cursor,
    Receipt,
    SearchHit,
    Snapshot,
    TailedEvent,
)
from sapwood.core.search_query import read_query
from sapwood.core.text_size import is_large
from sapwood.store.master_keys import KeyChanged, MasterKeys, StoredKeys
from sapwood.store.space_cipher import SpaceCipher
from sapwood.store.sqlite import agent_table, erasure_table, key_table
from sapwood.store.sqlite.commit_rows import CommitRows, find_receipt, rows_of, store
from sapwood.store.sqlite.commit_watcher import CommitWatcher
from sapwood.store.sqlite.connections import (
    TEMPORARY,
    FileLock,
    SqliteReaderPool,
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
    SqliteIndexer,
    begin_rebuild,
    rebuild_page,
    search_words,
)
from sapwood.store.sqlite.key_table import (
    cipher_of,
    is_empty,
    make_key,
)
from sapwood.store.sqlite.meaning_table import sign_events
from sapwood.store.sqlite.schema import prepare
from sapwood.store.sqlite.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")
_KEY_TRIES = 4
_PAGE = 500
"""How many events a follower reads at once."""


def _read(
    work: Callable[Concatenate[Connection, P], T],
) -> "Callable[Concatenate[SqliteLog, P], CoroutineType[Any, Any, T]]":
    """Returns a method of the log that does this on a connection of a reader thread."""

    @wraps(work)
    async def run(self: "SqliteLog", *args: P.args, **kwargs: P.kwargs) -> T:
        readers = self._readers  # pyright: ignore[reportPrivateUsage] # its own method
        return await readers.run(lambda on: work(on, *args, **kwargs))

    return run


def _write(
    work: Callable[Concatenate[Connection, P], T],
) -> "Callable[Concatenate[SqliteLog, P], CoroutineType[Any, Any, T]]":
    """Returns a method of the log that does this in a transaction of the writer thread."""

    @wraps(work)
    async def run(self: "SqliteLog", *args: P.args, **kwargs: P.kwargs) -> T:
        writer = self._writer  # pyright: ignore[reportPrivateUsage] # its own method
        return await writer.run(lambda on: work(on, *args, **kwargs), in_thread=True)

    return run


class SqliteLog:
    """A log in a file that several processes may share.

    Use it only on the event loop that opened it. `Log` and `ErasableLog` describe the methods.
    """

    def __init__(self, connection: Connection, path: Path, keys: StoredKeys | None = None) -> None:
        self._path = path
        self._keys = keys
        self._ciphers: dict[Space, SpaceCipher | None] = {}
        self._readers = SqliteReaderPool(path, keys)
        self._writer = Writer(connection, path, keys)
        self._watcher = CommitWatcher(path, self._readers)
        self._indexer = SqliteIndexer(self._readers, self._writer)
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

    receipt = _read(find_receipt)
    words = _read(find_words)
    snapshot = _read(find_snapshot)
    summary = _read(agent_table.find_summary)
    agents = _read(agent_table.list_agents)
    conversations = _read(agent_table.list_folder)
    working = _read(agent_table.list_working)
    working_spaces = _read(agent_table.working_spaces)
    find = _read(agent_table.find_agents)
    ancestors = _read(agent_table.ancestors)
    descendants = _read(agent_table.descendants)
    family = _read(agent_table.family)
    read = _read(read_part)
    space_keys = _read(key_table.list_keys)
    unfinished_erasures = _read(erasure_table.list_unfinished)
    erasures = _read(erasure_table.list_erasures)
    spaces = _read(agent_table.list_spaces)
    holds = _read(erasure_table.list_holds)

    renew_keys = _write(key_table.renew_keys)
    begin_erasure = _write(erasure_table.begin_erasure)
    clear_space = _write(erasure_table.clear_space)
    forget_agents = _write(erasure_table.forget_agents)
    finish_erasure = _write(erasure_table.finish_erasure)
    add_hold = _write(erasure_table.insert_hold)
    release_hold = _write(erasure_table.release_hold)

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Stores a snapshot. A lost snapshot only slows the next open."""
        await self._writer.run(lambda on: insert_snapshot(on, space, snapshot), durable=False)

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipt durably, or nothing.

        Returns None, or the earlier receipt if the command was stored before. Raises
        `VersionConflict` if an agent is not at its expected version, and `LogError` if the database
        fails.
        """
        return await self._with_key(space, commit, store)

    async def _with_key(
        self, space: Space, commit: Commit, work: Callable[[Connection, CommitRows], T]
    ) -> T:
        """Does this with a commit in a transaction, encoded with the key of its space."""
        if self._keys is None:
            return await self._store(space, commit, None, work)
        for _ in range(_KEY_TRIES):
            cipher = await self._cipher_for(space, commit)
            try:
                return await self._store(space, commit, cipher, work)
            except KeyChanged:
                self._ciphers.pop(space, None)
        raise KeyChanged(f"The key of the space '{space}' keeps changing. Try again.")

    async def _store(
        self,
        space: Space,
        commit: Commit,
        cipher: SpaceCipher | None,
        work: Callable[[Connection, CommitRows], T],
    ) -> T:
        in_thread = is_large([each.event for append in commit.appends for each in append.events])
        rows = (
            await asyncio.to_thread(rows_of, space, commit, cipher)
            if in_thread
            else rows_of(space, commit, cipher)
        )

        def notify() -> None:
            self._watcher.notify(space, [append.agent for append in commit.appends])
            self._indexer.schedule()

        return await self._writer.run(lambda on: work(on, rows), notify, in_thread=in_thread)

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

    async def late_receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The receipt of a command, after what was handed to the writer's thread before."""
        return await self._writer.run(lambda on: find_receipt(on, space, command), durable=False)

    async def seal(self, space: Space, data: bytes) -> bytes:
        cipher = await self._readers.run(lambda on: cipher_of(on, space))
        return data if cipher is None else cipher.seal(data, "archive")

    async def unseal(self, space: Space, data: bytes) -> bytes | None:
        cipher = await self._readers.run(lambda on: cipher_of(on, space))
        return None if cipher is None else cipher.open(data, "archive")

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

    def watched_words(self, space: Space, agent: AgentId) -> AbstractContextManager[AwaitWatcher]:
        """It cannot know: those who watch in other processes only read."""
        return nullcontext(always_watched)

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
        if asked.question and meaning.extra_installed():
            await sign_events(self._readers, self._writer, space)
        return await self._readers.run(
            lambda on: search_words(on, space, asked, agents, limit, offset)
        )

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

    async def replace_agents(
        self, space: Space, erasure: Erasure, expected: Mapping[AgentId, int], commit: Commit
    ) -> None:
        """Deletes agents that are at these versions, and stores a commit, together or not at all.

        Raises `VersionConflict` if something was added to one of them.
        """
        await self._with_key(
            space,
            commit,
            lambda on, rows: erasure_table.replace_agents(on, space, erasure, expected, rows),
        )
        self._watcher.notify(space, expected)

    async def erase_words(self, space: Space, erasure: str) -> None:
        """Makes the word index of a space again, without the words of erased events."""
        await self._writer.run(lambda on: begin_rebuild(on, space), in_thread=True)
        while await self._writer.run(lambda on: rebuild_page(on, space), in_thread=True):
            pass

    async def scrub(self, whole: bool = False) -> str:
        """Writes the file again without what was deleted, and empties the WAL file.

        Returns what still has to be done by hand; empty if nothing.
        """
        await asyncio.to_thread(scrub, self._path)
        return ""

    async def try_lead(self, task: str) -> FileLock | None:
        """The lock of a task that one process at a time does; None if another one has it."""
        with translated_errors(self._path):
            return try_lock(self._path, task)

    async def close(self) -> None:
        """Ends followers, finishes submitted commits and closes the file."""
        await self._watcher.close()
        await self._indexer.close()
        await self._readers.close()
        await self._writer.close()
        if self._delete is not None:
            self._delete()


def _open(path: Path, keys: StoredKeys | None) -> tuple[Connection, Path]:
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
