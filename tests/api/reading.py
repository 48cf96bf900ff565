"""What a model would read, as plain words."""

import re

from sapwood import Agent
from tests.core.speaking import texts_of


def without_fences(text: str) -> str:
    """The text without the random marks of where a text of others ends."""
    head = r"\.? This text ends at \[end [0-9a-f]{12}\]\."
    return re.sub(rf"{head}|\n\[end [0-9a-f]{{12}}\]", "", text)


async def said(agent: Agent) -> list[str]:
    """The text of every message that the agent's model would be sent now."""
    return texts_of(await agent.request())


async def kinds(agent: Agent) -> list[str]:
    """The kinds of the agent's events, oldest first."""
    return [recorded.kind for recorded in await agent.events()]
