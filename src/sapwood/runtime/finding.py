"""Finding an agent by what is typed: its id, the start of it, its name, or `parent`."""

from sapwood.core.ids import AgentId, Space, can_be_stored
from sapwood.core.refusals import AmbiguousAgent, Refusal, UnknownAgent
from sapwood.runtime.log import Log

__all__ = ["PARENT", "find_agent"]


PARENT = "parent"
"""What an agent calls whoever forked it: a child is born without knowing its parent's id."""


async def find_agent(
    log: Log, space: Space, typed: str, *, parent: AgentId | None = None
) -> AgentId | Refusal:
    """The one agent that is meant, or why that cannot be said.

    A whole id or a whole name wins over the start of an id. A name stands for the one running agent
    that has it: those it succeeded have the same. `parent` is that of whoever asks.
    """
    if typed == PARENT and parent is not None:
        return parent
    found = await log.find(space, typed, limit=5) if typed and can_be_stored(typed) else []
    if not found:
        return UnknownAgent(typed)
    running = [facts for facts in found if facts.status == "running"]
    if len(running) == 1 and all(facts.name == typed for facts in found):
        return running[0].agent
    if len(found) > 1:
        return AmbiguousAgent(typed, tuple(facts.agent for facts in found))
    return found[0].agent
