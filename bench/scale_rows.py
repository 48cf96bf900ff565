"""Well-formed rows of many agents for PostgreSQL, written by COPY.

Each agent has an owner, a start and two whole turns, as `Agent.record` stores them. Ten agents have
the same owner.
"""

import asyncio
from collections.abc import Iterator

import asyncpg
import msgspec
from msgspec import structs

import sapwood
from sapwood.core.events import AgentStarted, Recorded, TurnRecorded
from sapwood.core.events.codec import encode
from sapwood.core.ids import AgentId, TurnRef
from sapwood.core.log_values import AgentSummary
from sapwood.core.tags import Tags

SPACE = "scale"
PER_OWNER = 10
_BATCH = 5_000
_START = 1_700_000_000_000_000
_WORDS = "oslo rome lima cairo quito delhi accra seoul tunis paris dakar hanoi".split()

_EVENT_COLUMNS = ("space", "agent", "version", "kind", "data", "at", "actor", "command")
_AGENT_COLUMNS = ("space", "agent", "version", "facts", "name", "parent", "status", "created")


def agent_of(number: int) -> str:
    """The id of an agent."""
    return f"agent-{number:07}"


def owner_of(number: int) -> str:
    """The owner of an agent."""
    return f"user-{number // PER_OWNER}"


async def _template() -> tuple[list[Recorded], AgentSummary]:
    """The events and the summary of an agent, as the log of a real one has them."""
    async with sapwood.open(":memory:") as db:
        agent = await db.start("chat", id=agent_of(0), model="gpt-5", owner=owner_of(0))
        await agent.record("PROMPT", "ANSWER")
        await agent.record("PROMPT", "ANSWER")
        summary = await db.connection.log.summary(db.connection.space, agent.id)
        assert summary is not None
        return await agent.events(), summary


async def copy_agents(dsn: str, first: int, last: int) -> None:
    """Adds the agents with the numbers `first` to `last`."""
    events, summary = await _template()
    session = await asyncpg.connect(dsn)
    try:
        for start in range(first, last + 1, _BATCH):
            numbers = range(start, min(start + _BATCH, last + 1))
            async with session.transaction():
                await session.copy_records_to_table(
                    "agents",
                    schema_name="sapwood",
                    columns=_AGENT_COLUMNS,
                    records=[_agent_row(number, summary) for number in numbers],
                )
                await session.copy_records_to_table(
                    "events",
                    schema_name="sapwood",
                    columns=_EVENT_COLUMNS,
                    records=[row for number in numbers for row in _event_rows(number, events)],
                )
            await asyncio.sleep(0)
        await session.execute("ANALYZE sapwood.agents, sapwood.events, sapwood.agent_keys")
    finally:
        await session.close()


def _agent_row(number: int, summary: AgentSummary) -> tuple[object, ...]:
    at = _START + number * 1_000
    own = structs.replace(
        summary,
        agent=AgentId(agent_of(number)),
        name=f"chat {number}",
        created=at,
        updated=at + 2,
        tags=structs.replace(summary.tags or Tags(), owner=owner_of(number)),
    )
    shown = msgspec.json.encode(own).decode()
    return SPACE, own.agent, own.version, shown, own.name, None, own.status, own.created


def _event_rows(number: int, events: list[Recorded]) -> Iterator[tuple[object, ...]]:
    agent, at = AgentId(agent_of(number)), _START + number * 1_000
    city, other = _WORDS[number % 12], _WORDS[number // 12 % 12]
    for recorded in events:
        event = recorded.event
        if isinstance(event, TurnRecorded):
            parent = event.parent
            if parent is not None:
                event = structs.replace(event, parent=TurnRef(agent, parent.first, parent.last))
        elif isinstance(event, AgentStarted):
            event = structs.replace(event, name=f"chat {number}")
        encoded = encode(event)
        data = encoded.data.replace("PROMPT", f"Is it colder in {city} or in {other} today?")
        data = data.replace("ANSWER", f"It is colder in {city}, as number{number} was told.")
        data = data.replace(owner_of(0), owner_of(number))
        actor = str(recorded.actor)
        command = f"copy-{number}-{recorded.version}"
        yield SPACE, agent, recorded.version, encoded.kind, data, at, actor, command
