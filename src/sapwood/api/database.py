"""A database with conversations in it, as a Python program holds it."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from sapwood.api.agent import Agent
from sapwood.api.arguments import (
    agent_ids,
    count,
    cursor,
    event_ref,
    flag,
    key,
    label,
    optional,
    page_start,
    pins_of,
    text,
)
from sapwood.app.connection import Connection, connect
from sapwood.core.commands import StartAgent
from sapwood.core.errors import RefusedError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, EventRef, can_be_stored
from sapwood.core.log import Cursor, Facts, Hit, Tailed
from sapwood.core.refusals import AgentExists, BadSetting, Refusal
from sapwood.core.settings import Settings, Workspace
from sapwood.runtime.finding import find_agent
from sapwood.runtime.fresh import given, new_agent_id
from sapwood.runtime.log import Log

__all__ = ["Sapwood", "open"]

# Ids are typed after commands and before a colon and a version.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Sapwood:
    """One space of a database. Made by `sapwood.open`.

    >>> import asyncio, sapwood
    >>> async def main() -> None:
    ...     async with sapwood.open(":memory:") as wood:
    ...         agent = await wood.start("demo", model="gpt-5", cap=50_000)
    ...         await agent.record("Remember the heron.", "I will.")
    ...         [hit] = await wood.search("heron")
    ...         print(hit.snippet)
    ...         print([facts.name for facts in await wood.agents()])
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
    ) -> Agent:
        """A new agent. `settings`, where given, take the place of model, system and cap.

        `id` is yours to choose; with `resume`, the agent that has it is taken up as it is.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as wood:
        ...         for prompt in ("Hello!", "Hello again!"):
        ...             agent = await wood.start(id="chat-42", resume=True)
        ...             await agent.record(prompt, "Hello to you.")
        ...         print(agent, len((await agent.request()).messages))
        >>> asyncio.run(main())
        Agent('chat-42') 4
        """
        own, again = key(id, "id"), flag(resume, "resume")
        if again and not own:
            raise RefusedError(BadSetting("resume", "used with the id of the agent to take up"))
        agent = _own_id(own) if own else new_agent_id()
        command = StartAgent(
            agent,
            name,
            settings if settings is not None else Settings(model=model, system=system, cap=cap),
            Workspace(folder=folder),
            pins_of(pins),
        )
        answer = await self.connection.dispatcher.dispatch(command, given())
        if isinstance(answer, Refusal) and not (again and isinstance(answer, AgentExists)):
            raise RefusedError(answer)
        return Agent(self.connection, agent)

    async def agent(self, name: str) -> Agent:
        """The agent with this id, the start of it, or this name: to resume it."""
        found = await find_agent(self.connection.log, self.connection.space, label(name, "name"))
        if isinstance(found, Refusal):
            raise RefusedError(found)
        return Agent(self.connection, found)

    async def agents(
        self,
        *,
        after: Facts | None = None,
        limit: int = 100,
        parent: str | None = None,
        status: Literal["running", "archived", "killed"] | None = None,
    ) -> list[Facts]:
        """A page of agents, newest first, going on after the last one seen."""
        held = self.connection
        above = optional(key, parent, "parent")
        if above is not None and not can_be_stored(above):
            return []
        return await held.log.agents(
            held.space,
            after=page_start(after),
            limit=count(limit, "limit"),
            parent=None if above is None else AgentId(above),
            status=optional(label, status, "status"),
        )

    async def search(
        self,
        query: str,
        *,
        agents: Sequence[str] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Hit]:
        """Where these words were ever said, by all agents or those with these ids, best first."""
        held = self.connection
        return await held.log.search(
            held.space,
            text(query, "query"),
            agents=optional(agent_ids, agents, "agents"),
            limit=count(limit, "limit"),
            offset=count(offset, "offset"),
        )

    async def event(self, ref: EventRef) -> Recorded | None:
        """The event at a place, such as that of a hit."""
        held, place = self.connection, event_ref(ref)
        if place is None:
            return None
        found = await held.log.read(held.space, place.agent, place.version, place.version)
        return found[0] if found else None

    def space(self, name: str) -> "Sapwood":
        """Another space of the same database, such as that of another tenant. Needs no closing.

        >>> import asyncio, sapwood
        >>> async def main() -> None:
        ...     async with sapwood.open(":memory:") as wood:
        ...         await wood.space("tenant-7").start("demo")
        ...         print(len(await wood.agents()), len(await wood.space("tenant-7").agents()))
        >>> asyncio.run(main())
        0 1
        """
        return Sapwood(self.connection.beside(name))

    def tail(self, after: Cursor | None = None) -> AsyncIterator[Tailed]:
        """Every event of every agent after a cursor, then each new one as it happens."""
        return self.connection.log.tail(self.connection.space, cursor(after))

    async def close(self) -> None:
        """Lets go of the database. `async with sapwood.open(…)` does it by itself."""
        await self.connection.close()


@asynccontextmanager
async def open(address: str | Path | Log, *, space: str = "local") -> AsyncGenerator[Sapwood]:
    """Opens `:memory:`, a path (an SQLite file, made if missing), or `postgresql://…`.

    A log of `sapwood.store` that is open already is used as it is, and stays open.

    >>> import asyncio, sapwood
    >>> async def main() -> None:
    ...     async with sapwood.open(":memory:") as wood:
    ...         print(await wood.agents())
    >>> asyncio.run(main())
    []
    """
    wood = Sapwood(await connect(address, space))
    try:
        yield wood
    finally:
        await wood.close()


def _own_id(text: str) -> AgentId:
    if not _ID.fullmatch(text):
        rule = "up to 64 letters, digits, '_', '.' or '-', starting with a letter or a digit"
        raise RefusedError(BadSetting("id", rule))
    return AgentId(text)
