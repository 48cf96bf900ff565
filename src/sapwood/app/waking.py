"""Having agents driven by other processes: workers that share the database."""

from collections.abc import Mapping
from importlib.util import find_spec

from sapwood.app.config import Config
from sapwood.core.ids import AgentId, Space

__all__ = ["wake_elsewhere"]


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
