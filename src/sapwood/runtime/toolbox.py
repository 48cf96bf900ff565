"""The tools that the runtime needs: what a model may call, and what comes of it."""

from collections.abc import Sequence
from typing import Protocol

from sapwood.core.calling import Effect, ToolOutcome, ToolSpec, ToolUse

__all__ = ["Toolbox"]


class Toolbox(Protocol):
    """A set of tools, such as those for files and shell, or those of an MCP server."""

    async def specs(self) -> Sequence[ToolSpec]:
        """What the model is offered, in a stable order: it is part of the cached prefix."""
        ...

    def effect(self, use: ToolUse) -> Effect:
        """Whether this call changes anything outside of Sapwood."""
        ...

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the call. Never raises for what a tool does wrong; cancelling it stops the tool."""
        ...

    async def close(self) -> None:
        """Ends what was started for the tools."""
        ...
