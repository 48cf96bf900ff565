"""Having agents driven by other processes: workers that share the database."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec

from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Append
from sapwood.runtime.scheduling import woken_by

__all__ = ["given_work", "wake_elsewhere"]


@asynccontextmanager
async def given_work(connection: Connection) -> AsyncGenerator[dict[AgentId, str]]:
    """Afterwards: agents that have work to do because of what was done meanwhile, with models."""
    woken: dict[AgentId, str] = {}
    working: dict[AgentId, str] = {}

    def committed(appends: tuple[Append, ...]) -> None:
        for append in appends:
            woken.update(dict.fromkeys(woken_by(append), append.facts.model))

    connection.dispatcher.on_commit(committed)
    yield working
    for agent, model in woken.items():
        facts = await connection.log.facts(connection.space, agent)
        if facts is not None and facts.working:
            working[agent] = model


async def wake_elsewhere(config: Config, agents: Mapping[AgentId, str]) -> None:
    """Tells the workers of the database that these agents, given with their models, have work.

    Without the durable engine there are no workers to tell.
    """
    if not agents or config.address == ":memory:" or find_spec("dbos") is None:
        return
    from sapwood.engine.dbos import DbosEngine

    engine = DbosEngine(config.address)
    try:
        for agent, model in agents.items():
            await engine.wake(Space(config.space), agent, model=model)
    finally:
        await engine.close()
