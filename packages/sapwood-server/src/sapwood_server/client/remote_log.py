"""The log of a server, read over HTTP. Commands are carried out by the server, not here.

Sends commands of the core to a server, which decides. Agents are opened from its log here.

The agents of a server, as the faces of another machine see them: they run there.

The conversation service of a server: its handlers run there, where files, keys and tools are.

Everything that only reads works on the log of the server, as in every other face.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NoReturn

from msgspec import Struct, structs

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection
from sapwood.conversation.answers import Answer, Changed, Prompted
from sapwood.conversation.call import Caller, ModelCall, Person, Services
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.commands import Command, CommandMeta
from sapwood.core.content import File, PromptPart, Text
from sapwood.core.errors import LogError, RefusedError, SapwoodError
from sapwood.core.events import HUMAN, Actor, ModelCalled, Pin, Recorded, ReplyAdded, ReplyLost
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
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
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Settings
from sapwood.core.tags import Tags
from sapwood.core.token_count import Counter
from sapwood.core.turn import joined_parts
from sapwood.core.turn_params import TurnParams
from sapwood.store.stores import StoreOptions
from sapwood.turns.clock_and_ids import new_nonce
from sapwood.turns.command_batch import SentCommand
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import Log
from sapwood_server.client.http_session import HttpSession, path_of, server_token
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
    part_from,
    recorded_from,
    tailed_from,
)

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


class RemoteDispatcher(Dispatcher):
    """Carries out commands on the agents of one space of a server.

    The server knows the sender by its token: that name is the actor of the events.
    """

    def __init__(
        self,
        session: HttpSession,
        log: Log,
        space: Space,
        counter_for: Callable[[str], Counter],
    ) -> None:
        super().__init__(log, space, counter_for)
        self._session = session

    async def dispatch(self, command: Command, meta: CommandMeta) -> Done | Refusal:
        """Sends the command. Returns its answer, or the refusal."""
        body = {
            "kind": type(command).__name__,
            "command": structs.asdict(command),
            "id": meta.id,
            "holder": meta.holder,
            "call": meta.call,
            "role": meta.actor.role,
            "request": meta.request,
        }
        try:
            return await self._session.post("/v1/dispatch", body, Done)
        except RefusedError as refused:
            return refused.refusal

    async def dispatch_all(
        self, agent: AgentId, commands: Sequence[SentCommand]
    ) -> tuple[Receipt, ...] | None:
        """Returns None: the caller then sends them one by one."""
        return None


class _Interrupted(Struct, frozen=True):
    message: str
    events: tuple[EventRef, ...] = ()


class RemoteRunner(AgentRunner):
    """Watches and interrupts agents of a server. It drives none."""

    def __init__(self, connection: Connection, session: HttpSession) -> None:
        self.connection = connection
        self.programs = None
        self._session = session
        self._listeners = set()

    async def start(self) -> None:
        """Does nothing: the server or its workers run the agents."""

    async def close(self) -> None:
        """Does nothing."""

    def use_keys(self, keys: Mapping[str, str], urls: Mapping[str, str]) -> None:
        """Does nothing: the server has its own keys."""

    async def wake(self, agent: AgentId) -> None:
        """Does nothing: the server or its workers wake agents."""

    async def assume(self, agent: AgentId) -> None:
        """Does nothing: sessions of programs are on the machine of the server."""

    async def interrupt(self, agent: AgentId, reason: str = "") -> Done | Refusal:
        """Stops the open turn. The words received so far become the reply of the model."""
        path = path_of("v1", "agents", agent, "interrupt")
        try:
            done = await self._session.post(path, {}, _Interrupted)
        except RefusedError as refused:
            return refused.refusal
        return Done(done.message, done.events)

    async def compact(
        self,
        agent: AgentId,
        keep: int = 0,
        anyway: bool = False,
        why: CommandMeta | None = None,
        wanted: str = "",
    ) -> Done | Refusal:
        """Raises `SapwoodError`: the command /compact is carried out by the server."""
        raise SapwoodError("Summaries are written on the server. Type: /compact")


class _Answered(Struct, frozen=True):
    answer: Answer


class _Started(Struct, frozen=True):
    agent: AgentId


class _Uploaded(Struct, frozen=True):
    id: str


class _Upload(Struct, frozen=True):
    file: _Uploaded


class RemoteService(ConversationService):
    """Sends prompts and commands to a server and returns its typed answers."""

    def __init__(self, services: Services, session: HttpSession) -> None:
        super().__init__(services)
        self._session = session

    async def answer(
        self,
        agent: AgentId | None,
        run: CommandStep,
        *,
        caller: Caller | None = None,
        goal: str = "",
    ) -> Answer | Refusal:
        """Carries out one command on the server. `agent` is None before there is a conversation."""
        if isinstance(caller, ModelCall):
            raise SapwoodError("A server's agents run on the server. Nothing was changed.")
        words = ("v1", "agents", agent) if agent else ("v1",)
        body = {
            "args": run.args,
            "goal": goal,
            "picks": self.services.picks,
            "id": _once(caller.command_id if isinstance(caller, Person) else None),
        }
        try:
            path = path_of(*words, "commands", run.command.name)
            return (await self._session.post(path, body, _Answered)).answer
        except RefusedError as refused:
            return refused.refusal

    async def prompt(
        self,
        agent: AgentId,
        prompt: str | tuple[PromptPart, ...],
        *,
        actor: Actor = HUMAN,
        command_id: str | None = None,
        params: TurnParams | None = None,
        reads_instructions: bool = True,
        request: str = "",
    ) -> Prompted | Refusal:
        """Opens a turn with a prompt. Files are uploaded first, and the server reads instructions.

        Raises `Failure`.
        """
        if not reads_instructions:
            raise SapwoodError(
                "The server reads the instructions in its own workspace. Nothing was sent."
            )
        parts: Sequence[PromptPart] = (Text(prompt),) if isinstance(prompt, str) else prompt
        try:
            sent = [await self._part(agent, part) for part in parts]
            body = {"parts": sent, "params": params, "id": _once(command_id)}
            answered = await self._session.post(
                path_of("v1", "agents", agent, "turns"), body, _Answered
            )
        except RefusedError as refused:
            return refused.refusal
        assert isinstance(answered.answer, Prompted)
        return answered.answer

    async def start(
        self,
        folder: str = "",
        *,
        name: str = "",
        settings: Settings | None = None,
        pins: tuple[Pin, ...] = (),
        agent: AgentId | None = None,
        has_prompt: bool = True,
        script: bool = False,
        tags: Tags | None = None,
        actor: Actor = HUMAN,
        command_id: str | None = None,
        request: str = "",
    ) -> AgentId:
        """Starts a conversation on the server; without settings, with the server's.

        A folder is one of the server, so that of the caller is not sent: the server's own is used.
        """
        if settings is None:
            body = {"name": name, "has_prompt": has_prompt, "id": _once(command_id)}
            return (await self._session.post("/v1/agents", body, _Started)).agent
        return await super().start(
            folder,
            name=name,
            settings=settings,
            pins=pins,
            agent=agent,
            has_prompt=has_prompt,
            script=script,
            tags=tags,
            actor=actor,
            command_id=command_id,
            request=request,
        )

    async def checkpoint(
        self, agent: AgentId, *, actor: Actor = HUMAN, command_id: str | None = None
    ) -> Changed:
        """Raises `SapwoodError`: the files are on the machine of the server."""
        raise SapwoodError(
            "This conversation's files are on the server, which saves them in each turn. Nothing "
            "was changed."
        )

    async def _part(self, agent: AgentId, part: PromptPart) -> object:
        if not isinstance(part, File):
            return part
        path = path_of("v1", "agents", agent, "files")
        stored = await self._session.upload(path, part.content, _Upload, name=part.name)
        return {"type": "upload", "id": stored.file.id, "name": part.name}


def _once(command_id: str | None) -> str:
    """An id, so that a request that is repeated acts once."""
    return command_id or new_nonce() + new_nonce()
