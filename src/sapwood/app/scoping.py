"""Tools with more rights for one agent and its descendants than for all others.

What a person allows on a command line is meant for the agents of that command, and a process may
be handed the work of others.
"""

from collections.abc import Sequence

from sapwood.core.calling import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.ids import AgentId, Space
from sapwood.runtime.log import Log
from sapwood.runtime.toolbox import Toolbox

__all__ = ["ScopedToolbox"]


class ScopedToolbox:
    """Hands calls of `root` and its descendants to `own` and those of others to `usual`."""

    def __init__(self, log: Log, space: Space, root: AgentId, own: Toolbox, usual: Toolbox) -> None:
        self._log = log
        self._space = space
        self._root = root
        self._own = own
        self._usual = usual

    async def specs(self) -> Sequence[ToolSpec]:
        """The same in both."""
        return await self._own.specs()

    def effect(self, use: ToolUse) -> Effect:
        """The same in both."""
        return self._own.effect(use)

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the call with the rights of its agent."""
        is_own = use.agent == self._root or self._root in await self._log.ancestors(
            self._space, use.agent
        )
        return await (self._own if is_own else self._usual).run(use)

    async def close(self) -> None:
        """Closes both."""
        try:
            await self._own.close()
        finally:
            await self._usual.close()
