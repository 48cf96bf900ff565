"""A server as the faces of another machine see it: its log, read over HTTP, and its agents.

Commands are sent to the server, whose handlers run where files, keys and tools are. Everything that
only reads works on the log of the server, as in every other face.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from functools import wraps
from inspect import signature
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, TypeVar

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
from sapwood.core.live_words import AwaitWatcher, LiveWords, always_watched
from sapwood.core.log_values import (
    Cursor,
    Receipt,
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
    EventsPage,
    ServerSession,
    part_from,
    recorded_from,
    tailed_from,
)

P = ParamSpec("P")
R = TypeVar("R")


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


def _asked(
    method: "Callable[Concatenate[Log, P], CoroutineType[Any, Any, R]]",
) -> "Callable[Concatenate[RemoteLog, P], CoroutineType[Any, Any, R]]":
    """Returns the method as one that the server carries out."""
    parameters = signature(method)

    @wraps(method)
    async def run(self: "RemoteLog", *args: P.args, **kwargs: P.kwargs) -> R:
        given = parameters.bind(self, *args, **kwargs).arguments
        arguments = {name: given[name] for name in given if name not in ("self", "space")}
        return await self.call(method.__name__, arguments)

    return run


def _only_there(
    method: "Callable[Concatenate[Log, P], CoroutineType[Any, Any, R]]",
) -> "Callable[Concatenate[RemoteLog, P], CoroutineType[Any, Any, R]]":
    """Returns a method that raises `LogError`, because only the server may do this to its log."""

    @wraps(method)
    async def refuse(self: "RemoteLog", *args: P.args, **kwargs: P.kwargs) -> R:
        raise LogError("This has to be done on the server itself, not with --server.")

    return refuse


class RemoteLog:
    """Reads one space of a server: that of the token. `Log` describes the methods."""

    def __init__(self, session: HttpSession, space: Space) -> None:
        self._session = session
        self.space = space

    @property
    def address(self) -> str:
        return self._session.address

    def dispatcher(self, space: Space, counter_for: Callable[[str], Counter]) -> Dispatcher:
        return RemoteDispatcher(self._session, self, space, counter_for)

    def service(self, services: Services) -> ConversationService:
        return RemoteService(services, self._session)

    def runner(self, connection: Connection) -> AgentRunner:
        return RemoteRunner(connection, self._session)

    receipt = _asked(Log.receipt)
    snapshot = _asked(Log.snapshot)
    summary = _asked(Log.summary)
    agents = _asked(Log.agents)
    conversations = _asked(Log.conversations)
    working = _asked(Log.working)
    find = _asked(Log.find)
    ancestors = _asked(Log.ancestors)
    descendants = _asked(Log.descendants)
    family = _asked(Log.family)
    end = _asked(Log.end)
    search = _asked(Log.search)

    commit = _only_there(Log.commit)
    late_receipt = _only_there(Log.late_receipt)
    save_words = _only_there(Log.save_words)
    words = _only_there(Log.words)
    working_spaces = _only_there(Log.working_spaces)

    def watched_words(self, space: Space, agent: AgentId) -> AbstractContextManager[AwaitWatcher]:
        """Nobody stores words from here."""
        return nullcontext(always_watched)

    async def call(self, name: str, arguments: Mapping[str, object]) -> Any:
        """The answer of the server's log, of the type that the table of calls names."""
        return await self._session.post(path_of("v1", "log", name), arguments, CALLS[name].answer)

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
            asked = {"agent": agent, "first": first, "last": last, "limit": left}
            page: EventsPage = await self.call("read", {**asked, "backward": backward})
            found += [each.recorded() for each in page.events]
            if not page.more or not page.events:
                break
            if backward:
                last = found[-1].version - 1
            else:
                first = found[-1].version + 1
        return found

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Does nothing: the server saves snapshots."""

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

    async def close(self) -> None:
        """Closes all connections."""
        await self._session.close()


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

    def reconfigure(
        self, keys: Mapping[str, str], urls: Mapping[str, str], fallback: Sequence[str]
    ) -> None:
        """Does nothing: the server has its own configuration."""

    async def wake(self, agent: AgentId) -> None:
        """Does nothing: the server or its workers wake agents."""

    async def sync_session(self, agent: AgentId) -> None:
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
        before_storing: Callable[[], Awaitable[None]] | None = None,
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
        checked: bool = False,
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
        model: str = "",
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
            if model:
                body["model"] = model
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
