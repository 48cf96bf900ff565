"""The first command on a long session: it is carried out at once, and recorded in the background.

The session is read into memory, without masks and exact counts, and the command is decided there.
The program's own session then has the change. `imports/pending_commands.py` keeps the command for
the import, which the caller starts as a process of low priority; any other command on the session
waits for it, or does it. What is in memory is stored nowhere.
"""

import asyncio
from typing import TYPE_CHECKING, Any, cast

from sapwood.app.connection import Connection
from sapwood.core.commands import Command, CommandMeta
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.refusals import Refusal
from sapwood.imports.import_commands import IMPORTER
from sapwood.imports.pending_commands import PendingSession, keep_commands, pending_file
from sapwood.programs.registry import program
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.programs.transcripts.transcript_events import imported_agent_id
from sapwood.store.stores import store_of
from sapwood.tokens.estimators import Chars4Counter
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import Log

if TYPE_CHECKING:
    from sapwood.context_actions.session_finder import SessionFinder
    from sapwood.core.events import Recorded
    from sapwood.core.log_values import AgentSummary, Commit, Receipt, Snapshot
    from sapwood.core.token_count import Counter
    from sapwood.turns.command_batch import SentCommand

LONG = 4_000_000
"""Bytes of a transcript from which on its first command does not wait for the import."""
_COMMANDS = frozenset({"clear", "rewind", "undo", "drop", "mark"})


async def stage_session(
    connection: Connection, sessions: "SessionFinder", name: str, session: str, transcript: str
) -> "StagedSession | None":
    """Prepares the first command on a long session that can be changed in place.

    Returns None for every other command and session. Raises `NoSession`.
    """
    if name not in _COMMANDS or connection.server is not None:
        return None
    found = await sessions.find(session, transcript)
    if not isinstance(found, FoundSession) or not found.source or found.size < LONG:
        return None
    files = program(found.source).sessions
    if files.in_database or len(files.parts_of(found.path)) != 1:
        return None
    agent = imported_agent_id(found.source, found.id)
    if await connection.log.summary(connection.space, agent) is not None:
        return None
    if not store_of(connection.address).exists(connection.address):  # it ends with this process
        return None
    if not await _is_changed_in_place(found.source):  # a new session is written from masked texts
        return None
    return StagedSession(connection, found, agent)


async def _is_changed_in_place(name: str) -> bool:
    from sapwood.programs.installed_programs import make_provider

    provider = make_provider(name)
    try:
        info = await asyncio.to_thread(provider.prove)
        return info is not None and bool(info.in_place)
    finally:
        await provider.close()


class StagedSession:
    """A session in memory. Give the command with `connection`, then call `keep`."""

    def __init__(self, connection: Connection, found: FoundSession, agent: AgentId) -> None:
        self.connection = _StagedConnection(connection)
        self.path = found.path
        self._agent = agent
        self._source = found.source
        self._size = found.path.stat().st_size

    async def keep(self) -> None:
        """Keeps the commands that were given for the import, if they changed something."""
        staged = self.connection
        await staged.close()
        if staged.given:
            place = staged.address, staged.space
            pending = (self._source, str(self.path), self._size, staged.version)
            file = pending_file(*place, self._agent)
            keep_commands(file, PendingSession(*place, *pending), staged.given)


class _StagedConnection(Connection):
    """A connection that stores nothing.

    `given` are the commands that changed something, `version` is that of the agent before them.
    """

    def __init__(self, connection: Connection) -> None:
        self.given: list[SentCommand] = []
        self.version = 0
        self._counter = Chars4Counter()
        log = cast("Log", _StagedLog(connection.log))  # it has the methods of the log behind it
        super().__init__(log, connection.space, owner=False, address=connection.address)

    def _new_dispatcher(self) -> Dispatcher:
        return _RecordingDispatcher(self)

    def counter_for(self, model: str) -> "Counter":
        return self._counter

    def masked(self, text: str) -> str:
        return text


class _RecordingDispatcher(Dispatcher):
    def __init__(self, staged: _StagedConnection) -> None:
        super().__init__(staged.log, staged.space, staged.counter_for)
        self._staged = staged

    async def dispatch(self, command: Command, meta: CommandMeta) -> Done | Refusal:
        done = await super().dispatch(command, meta)
        if meta.actor != IMPORTER and isinstance(done, Done) and done.events:
            if not self._staged.given:
                self._staged.version = done.events[0].version - 1
            self._staged.given.append((command, meta))
        return done


class _StagedLog:
    """Keeps commits in memory, in front of a log that it only reads."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._streams: dict[AgentId, list[Recorded]] = {}
        self._receipts: dict[CommandId, Receipt] = {}
        self._summaries: dict[AgentId, AgentSummary] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def commit(self, space: Space, commit: "Commit") -> "Receipt | None":
        for receipt in commit.receipts:
            if earlier := self._receipts.get(receipt.command):
                return earlier
        for append in commit.appends:
            self._streams.setdefault(append.agent, []).extend(append.events)
            self._summaries[append.agent] = append.summary
        self._receipts.update({receipt.command: receipt for receipt in commit.receipts})
        return None

    async def receipt(self, space: Space, command: CommandId) -> "Receipt | None":
        return self._receipts.get(command) or await self._log.receipt(space, command)

    async def read(
        self,
        space: Space,
        agent: AgentId,
        first: int = 1,
        last: int | None = None,
        *,
        limit: int | None = None,
        backward: bool = False,
    ) -> "list[Recorded]":
        if agent not in self._streams:
            return await self._log.read(space, agent, first, last, limit=limit, backward=backward)
        found = self._streams[agent][max(first, 1) - 1 : last]
        return (found[::-1] if backward else found)[:limit]

    async def summary(self, space: Space, agent: AgentId) -> "AgentSummary | None":
        return self._summaries.get(agent) or await self._log.summary(space, agent)

    async def save_snapshot(self, space: Space, snapshot: "Snapshot") -> None:
        """Saves none: the agent is in memory."""
