"""The class `Sapwood`: one space of a database, for Python programs; and `open`."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from sapwood.api.agent import Agent
from sapwood.api.arguments import (
    agent_ids,
    choice,
    count,
    cursor,
    event_ref,
    flag,
    key,
    label,
    optional,
    page_start,
    pins_from,
    tags_from,
    text,
    where_from,
    who,
)
from sapwood.app.connection import Connection, connect
from sapwood.app.conversation_service import offline_service
from sapwood.app.worker_wakes import WorkerWakes
from sapwood.config.config_file import Config
from sapwood.conversation.agent_lookup import find
from sapwood.conversation.turn_search import search_turns
from sapwood.core.erasure import Erasure
from sapwood.core.errors import AgentNotFound, RefusedError
from sapwood.core.events import HUMAN, Actor, Recorded
from sapwood.core.ids import AgentId, EventRef, can_be_stored
from sapwood.core.log_values import AgentSummary, Cursor, Order, SearchHit, TailedEvent, Where
from sapwood.core.refusals import AgentExists, BadSetting
from sapwood.core.settings import Settings
from sapwood.turns.log import Log

_STATUSES: tuple[Literal["running", "archived", "killed"], ...] = ("running", "archived", "killed")
_ORDERS: tuple[Order, ...] = ("created", "updated")
# An id can be typed as a word, and in front of a colon and a version.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Sapwood:
    """One space of a database, with its agents. `sapwood.open` returns it.

    Every method raises `LogError` if the database cannot be read or written.

    >>> import asyncio, sapwood
    >>> async def main() -> None:
    ...     async with sapwood.open(":memory:") as db:
    ...         agent = await db.start("demo", model="gpt-5", cap=50_000)
    ...         await agent.record("Remember the heron.", "I will.")
    ...         [hit] = await db.search("heron")
    ...         print(hit.snippet)
    ...         print([summary.name for summary in await db.agents()])
    >>> asyncio.run(main())
    Remember the heron. I will.
    ['demo']
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def start(
        self,
        name: str = "",
        *,
        id: str = "",
        resume: bool = False,
        model: str = "",
        system: str = "",
        cap: int = 100_000,
        pins: Mapping[str, str] | None = None,
        folder: str = "",
        settings: Settings | None = None,
        owner: str = "",
        labels: Sequence[str] = (),
        metadata: Mapping[str, str] | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Agent:
        """Starts a new agent and returns it.

        `name` is its name and `id` its id; without one, a random id is used. With `resume`, an
        existing agent with this id is returned unchanged. `model` is the model to call, `system`
        the system prompt and `cap` the largest size of the history in tokens; `settings` replace
        all three. `pins` are texts for every request, by name. `folder` is the workspace. `owner`,
        `labels` and `metadata` are for lists and rules of your program; `agents` finds agents by
        owner and label, and no model sees them. The same `command_id` given twice starts one
        agent. `actor` is who starts it.

        Raises `RefusedError` if the id is taken or a value is not valid.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as db:
        ...         for prompt in ("Hello!", "Hello again!"):
        ...             agent = await db.start(id="chat-42", resume=True)
        ...             await agent.record(prompt, "Hello to you.")
        ...         print(agent, len((await agent.request()).messages))
        >>> asyncio.run(main())
        Agent('chat-42') 4
        """
        own, again = key(id, "id"), flag(resume, "resume")
        if again and not own:
            raise RefusedError(BadSetting("resume", "used with the id of the agent to resume"))
        named = _own_id(own) if own else None
        try:
            agent = await offline_service(self.connection, Config()).start(
                folder,
                name=name,
                settings=settings
                if settings is not None
                else Settings(text(model, "model"), system, cap),
                pins=pins_from(pins),
                agent=named,
                tags=tags_from(owner, labels, metadata),
                actor=who(actor),
                command_id=command_id,
            )
        except RefusedError as refused:
            if named is None or not (again and isinstance(refused.refusal, AgentExists)):
                raise
            agent = named
        return Agent(self.connection, agent)

    async def get(self, id: str) -> Agent:
        """Returns the agent with exactly this id.

        Raises `AgentNotFound` if there is none in this space. Use this method for ids that come
        from a user of your program.
        """
        exact = key(id, "id")
        known = can_be_stored(exact) and await self.connection.log.summary(
            self.connection.space, AgentId(exact)
        )
        if not known:
            raise AgentNotFound(exact)
        return Agent(self.connection, AgentId(exact))

    async def find(self, text: str) -> Agent:
        """Returns the agent with this id, this start of an id, or this name, as a person types it.

        The text `chat-4` also finds the agent `chat-42`, so do not use this method for ids that
        come from a user of your program; use `get`. Raises `RefusedError` if there is none, or
        more than one.
        """
        return Agent(self.connection, await find(self.connection, label(text, "text")))

    async def agents(
        self,
        *,
        after: AgentSummary | None = None,
        limit: int = 100,
        parent: str | None = None,
        status: Literal["running", "archived", "killed"] | None = None,
        where: Where | None = None,
        order: Order = "created",
    ) -> list[AgentSummary]:
        """Returns a page of at most `limit` agents, newest first.

        `where` selects agents by owner, label, parent or status; `parent` and `status` do the same
        alone. `order` is "created", or "updated" for the agents with the latest event first.
        `after` is the last agent of the page before. Indexes answer every such list, so a page
        costs the same whatever the number of agents.

        Raises `RefusedError` if a value is not valid.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as db:
        ...         for name in ("first", "second"):
        ...             await db.start(name, owner="user-42", labels=["support"])
        ...         await (await db.find("first")).record("Hello!", "Hello to you.")
        ...         found = await db.agents(where=sapwood.Where(owner="user-42"), order="updated")
        ...         print([summary.name for summary in found])
        >>> asyncio.run(main())
        ['first', 'second']
        """
        asked = where_from(where)
        above = optional(key, asked.parent if parent is None else parent, "parent")
        wanted = asked.status if status is None else status
        if above is not None and not can_be_stored(above):
            return []
        return await self.connection.log.agents(
            self.connection.space,
            after=page_start(after),
            limit=count(limit, "limit"),
            parent=None if above is None else AgentId(above),
            status=None if wanted is None else choice(wanted, "status", _STATUSES),
            owner=asked.owner,
            label=asked.label,
            order=choice(order, "order", _ORDERS),
        )

    async def search(
        self,
        query: str,
        *,
        agents: Sequence[str] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[SearchHit]:
        """Returns the turns that answer a query, those of one conversation together, best first.

        Searches everything in the log, also what no model sees any more. Any word may match; a
        phrase in quotes must. Filters: `agent:` `file:` `tool:` `before:` `after:` `is:decision`.
        `agents` are ids to search in, by default all. `limit` and `offset` select a page of the
        results. Raises `RefusedError` if `agent:` names no agent.
        """
        return await search_turns(
            self.connection,
            text(query, "query"),
            agents=optional(agent_ids, agents, "agents"),
            limit=count(limit, "limit"),
            offset=count(offset, "offset"),
        )

    async def event(self, ref: EventRef) -> Recorded | None:
        """Returns the event at a place, such as that of a search hit; None if there is none."""
        place = event_ref(ref)
        if place is None:
            return None
        version = place.version
        found = await self.connection.log.read(self.connection.space, place.agent, version, version)
        return found[0] if found else None

    def space(self, name: str) -> "Sapwood":
        """Returns another space of the same database, for example of another tenant.

        It need not be closed. Raises `LogError` if the name cannot be stored.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as db:
        ...         await db.space("tenant-7").start("demo")
        ...         print(len(await db.agents()), len(await db.space("tenant-7").agents()))
        >>> asyncio.run(main())
        0 1
        """
        return Sapwood(self.connection.with_space(name))

    async def now(self) -> Cursor:
        """Returns the cursor after all events so far, for `tail`."""
        return await self.connection.log.end(self.connection.space)

    def tail(self, after: Cursor | Literal["now"] | None = None) -> AsyncIterator[TailedEvent]:
        """Yields the events of all agents after a cursor, then each new one. Never ends.

        Without a cursor it begins with the first event of the space. With `"now"` it begins with
        the first event that is stored after the first step of the loop.

        Raises `LogError` if the cursor is not of this space.
        """
        if isinstance(after, str) and after == "now":
            return self._from_now()
        return self.connection.log.tail(self.connection.space, cursor(after))

    async def erase(
        self, agents: Sequence[str] = (), *, owner: str = "", actor: Actor = HUMAN
    ) -> Erasure:
        """Erases agents with all their descendants, and returns one record.

        `agents` are ids; `owner` means all agents of that owner. Give one of both. See
        `Agent.erase`. Raises `RefusedError` if a legal hold covers one of them.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as db:
        ...         for owner in ("user-42", "user-42", "user-7"):
        ...             await db.start(owner=owner)
        ...         print((await db.erase(owner="user-42")).agents, len(await db.agents()))
        >>> asyncio.run(main())
        2 1
        """
        from sapwood.app.removal import eraser_for

        eraser, ids, name = eraser_for(self.connection), agent_ids(agents, "agents"), owner
        if bool(ids) == bool(label(name, "owner")):
            raise RefusedError(BadSetting("agents", "given, or else an owner, but not both"))
        if ids:
            return await eraser.erase(ids, by=str(who(actor)))
        return await eraser.erase_owner(label(name, "owner"), by=str(who(actor)))

    async def erase_space(self, *, actor: Actor = HUMAN) -> Erasure:
        """Erases everything in this space, and returns the record. See `Agent.erase`."""
        from sapwood.app.removal import eraser_for

        return await eraser_for(self.connection).erase_space(by=str(who(actor)))

    async def restore(self, agent: str, *, actor: Actor = HUMAN) -> Agent:
        """Brings an archived conversation back in place of its stub, and returns its root.

        `agent` is the id of the stub. Ids, versions and times are those of before, and a name,
        owner or labels that the stub got meanwhile are kept. The object is deleted. Raises
        `AgentNotFound`, `LogError` if the agent is not archived or its object cannot be read, and
        `RefusedError` if one of the ids is in use; then nothing was changed.
        """
        from sapwood.app.removal import restore_agent

        stub = await self.get(agent)
        await restore_agent(self.connection, stub.id, by=str(who(actor)))
        return await self.get(agent)

    async def erasures(self) -> list[Erasure]:
        """Returns the records of all erasures in this space, newest first.

        A record has counts, and neither ids nor texts of what was erased.
        """
        from sapwood.lifecycle.erasable_log import erasable

        return await erasable(self.connection.log).erasures(self.connection.space)

    async def _from_now(self) -> AsyncIterator[TailedEvent]:
        async for each in self.connection.log.tail(self.connection.space, await self.now()):
            yield each

    async def close(self) -> None:
        """Closes the database. Leaving `async with sapwood.open(…)` does the same."""
        await self.connection.close()


@asynccontextmanager
async def open(
    address: str | Path | Log, *, space: str = "local", token: str = ""
) -> AsyncGenerator[Sapwood]:
    """Opens one space of a database or of a server, and closes it at the end of the block.

    `address` is `:memory:`, a path (an SQLite file, created if missing), `postgresql://…`, or an
    open log of `sapwood.store`, which is not closed. `https://…` is a server (`sapwood serve`);
    `token` is the token for it, by default that of `sapwood login`, and decides the space. Raises
    `LogError` if it cannot be opened.

    >>> import asyncio, sapwood
    >>> async def main() -> None:
    ...     async with sapwood.open(":memory:") as db:
    ...         print(await db.agents())
    >>> asyncio.run(main())
    []
    """
    connection = await connect(address, space, token=token)
    if connection.address and connection.server is None:
        connection.wakes = WorkerWakes(connection.address, connection.log)
    db = Sapwood(connection)
    try:
        yield db
    finally:
        await db.close()


def _own_id(text: str) -> AgentId:
    if not _ID.fullmatch(text):
        rule = "up to 64 letters, digits, '_', '.' or '-', starting with a letter or a digit"
        raise RefusedError(BadSetting("id", rule))
    return AgentId(text)
