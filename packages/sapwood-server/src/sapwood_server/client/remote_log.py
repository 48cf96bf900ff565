"""The log of a server, read over HTTP. Commands are carried out by the server, not here."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, NoReturn

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection
from sapwood.conversation.call import Services
from sapwood.conversation.service import ConversationService
from sapwood.core.errors import LogError
from sapwood.core.events import ModelCalled, Recorded, ReplyAdded, ReplyLost
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
from sapwood.core.token_count import Counter
from sapwood.core.turn import joined_parts
from sapwood.store.store_plugin import StoreOptions
from sapwood.turns.dispatch import Dispatcher
from sapwood_server.client.event_values import part_from, recorded_from, tailed_from
from sapwood_server.client.http_session import HttpSession, path_of
from sapwood_server.client.log_calls import (
    CALLS,
    AncestorsCall,
    ConversationsCall,
    DescendantsCall,
    EndCall,
    EventsPage,
    FactsCall,
    FamilyCall,
    FindCall,
    ListCall,
    LogCall,
    ReadCall,
    ReceiptCall,
    SearchCall,
    ServerSession,
    SnapshotCall,
    WorkingCall,
)
from sapwood_server.client.login_tokens import server_token
from sapwood_server.client.remote_dispatcher import RemoteDispatcher
from sapwood_server.client.remote_runner import RemoteRunner
from sapwood_server.client.remote_service import RemoteService

_NAMES = {kind: name for name, (kind, _) in CALLS.items()}


async def open_remote_log(address: str, options: StoreOptions) -> "RemoteLog":
    """Signs in to a server. Raises `LogError` if it does not answer or does not know the token."""
    session = HttpSession(
        address,
        options.token or server_token(address),
        patience=options.patience if options.opening is None else options.opening,
        on_availability=options.on_availability,
    )
    try:
        signed_in = await session.get("/v1/session", ServerSession)
    except BaseException:
        await session.close()
        raise
    session.patience = options.patience
    return RemoteLog(session, Space(signed_in.space))


class RemoteLog:
    """Reads one space of a server: that of the token. It fits the interface of the log."""

    def __init__(self, session: HttpSession, space: Space) -> None:
        self._session = session
        self.space = space

    @property
    def address(self) -> str:
        """The address of the server."""
        return self._session.address

    def dispatcher(self, space: Space, counter_for: Callable[[str], Counter]) -> Dispatcher:
        """Returns what sends commands to the server."""
        return RemoteDispatcher(self._session, self, space, counter_for)

    def service(self, services: Services) -> ConversationService:
        """Returns the conversation service of the server."""
        return RemoteService(services, self._session)

    def runner(self, connection: Connection) -> AgentRunner:
        """Returns what watches and interrupts the agents of the server."""
        return RemoteRunner(connection, self._session)

    async def _call(self, call: LogCall) -> Any:
        """The answer to a call, of the type that the table names."""
        name = _NAMES[type(call)]
        kind: Any = CALLS[name][1]
        return await self._session.post(path_of("v1", "log", name), call, kind)

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Raises `LogError`: only the server writes to its log."""
        _only_there()

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The first answer to the command with this id; None if there was no such command."""
        return await self._call(ReceiptCall(command))

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
        """Events of one agent, versions `first` to `last`, newest first if `backward`."""
        found: list[Recorded] = []
        while limit is None or len(found) < limit:
            left = None if limit is None else limit - len(found)
            page: EventsPage = await self._call(ReadCall(agent, first, last, left, backward))
            found += [each.recorded() for each in page.events]
            if not page.more or not page.events:
                break
            if backward:
                last = found[-1].version - 1
            else:
                first = found[-1].version + 1
        return found

    async def save_words(
        self,
        space: Space,
        agent: AgentId,
        version: int,
        words: LiveWords,
        before: CommandId | None,
    ) -> bool:
        """Raises `LogError`: only the server writes to its log."""
        _only_there()

    async def words(self, space: Space, agent: AgentId) -> LiveWords | None:
        """Raises `LogError`: only the server decides on the words of a reply."""
        _only_there()

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        """The newest snapshot of this schema, at or before version `at` if given."""
        return await self._call(SnapshotCall(agent, schema, at))

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Does nothing: the server saves snapshots."""

    async def facts(self, space: Space, agent: AgentId) -> AgentSummary | None:
        """What a list shows of one agent."""
        return await self._call(FactsCall(agent))

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
        """A page of agents after `after`, newest first (by creation or last event, then id)."""
        return await self._call(ListCall(after, limit, parent, status, owner, label, order))

    async def conversations(
        self,
        space: Space,
        folder: str,
        *,
        after: AgentSummary | None = None,
        limit: int = 100,
        status: str | None = None,
    ) -> list[AgentSummary]:
        """A page of the root agents of a folder after `after`, the last changed first."""
        return await self._call(ConversationsCall(folder, after, limit, status))

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[AgentSummary]:
        """A page of the running agents that have work to do, by id, after `after`."""
        return await self._call(WorkingCall(after, limit))

    async def working_spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """Raises `LogError`: a client has one space."""
        _only_there()

    async def find(self, space: Space, name: str, limit: int = 10) -> list[AgentSummary]:
        """The agent with this id, else those with this name, else those whose id starts with it."""
        return await self._call(FindCall(name, limit))

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        return await self._call(AncestorsCall(agent))

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        return await self._call(DescendantsCall(agent))

    async def family(self, space: Space, agent: AgentId) -> list[AgentSummary]:
        """The root of the agent and all its descendants, parents before their children."""
        return await self._call(FamilyCall(agent))

    async def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        path = path_of("v1", "agents", agent, "events")
        async with aclosing(self._session.stream(path, str(after))) as messages:
            async for message in messages:
                if message.event != "delta":
                    yield recorded_from(message.data)

    async def watch(
        self, space: Space, agent: AgentId, after: int = 0
    ) -> AsyncIterator[Recorded | LiveWords]:
        """As `follow`, and the words of the reply that is arriving whenever there are more."""
        path, asked, parts = path_of("v1", "agents", agent, "events"), after, ()
        async with aclosing(self._session.stream(path, str(after))) as messages:
            async for message in messages:
                if message.event == "delta":
                    parts = joined_parts(parts, (part_from(message.data),))
                    yield LiveWords(asked, CommandId(message.id), parts)
                    continue
                recorded = recorded_from(message.data)
                if isinstance(recorded.event, ModelCalled | ReplyAdded | ReplyLost):
                    asked, parts = recorded.version, ()
                yield recorded

    async def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[TailedEvent]:
        """Every event of a space after a cursor, then each new one as it is committed."""
        start = after or Cursor()
        last = f"{start.events}.{start.position}" if start.position else str(start.events)
        async with aclosing(self._session.stream(path_of("v1", "events"), last)) as messages:
            async for message in messages:
                yield tailed_from(message.data)

    async def end(self, space: Space) -> Cursor:
        """The cursor after all events of a space that a tail has yielded or could yield now."""
        return await self._call(EndCall())

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[SearchHit]:
        """Finds events with these words, best first. Includes all commits before the call."""
        chosen = None if agents is None else tuple(agents)
        return await self._call(SearchCall(query, chosen, limit, offset))

    async def close(self) -> None:
        """Closes all connections."""
        await self._session.close()


def _only_there() -> NoReturn:
    raise LogError("This has to be done on the server itself, not with --server.")
