"""The engine that the runtime needs: it decides who drives which agent when, and nothing else.

The log stays the only truth. Whatever an engine remembers can be lost and built again by waking
every agent that has work to do; whatever it repeats is harmless, because driving an agent starts
by reading its log.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from sapwood.core.ids import AgentId, Space

__all__ = ["Drive", "Engine"]

Drive = Callable[[Space, AgentId], Awaitable[None]]
"""Takes one agent's open turn as far as it goes. Ends when there is no more work to do."""


class Engine(Protocol):
    """Has agents driven: each by one worker at a time, in this process or another."""

    async def launch(self, drive: Drive) -> None:
        """Starts to take work; unfinished work of workers that died is taken over."""
        ...

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Has this agent driven soon, or after a delay.

        Waking an agent that is being driven makes sure that it is looked at once more afterwards.
        `model` and `user` are what limits count by.
        """
        ...

    async def close(self) -> None:
        """Stops taking work. What is under way ends at its next step and goes on elsewhere."""
        ...
