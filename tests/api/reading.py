"""What a model would read, as plain words."""

from sapwood import Agent

__all__ = ["kinds", "said"]


async def said(agent: Agent) -> list[str]:
    """The text of every message that the agent's model would be sent now."""
    return [message.text for message in (await agent.request()).messages]


async def kinds(agent: Agent) -> list[str]:
    """The kinds of the agent's events, oldest first."""
    return [recorded.kind for recorded in await agent.events()]
