"""The tools that the runtime needs: what a model may call, and what comes of it."""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from sapwood.core.calling import ToolSpec
from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace

__all__ = ["Effect", "ToolOutcome", "ToolUse", "Toolbox"]

Effect = Literal["none", "some"]
"""Whether running a call twice could do harm."""


class ToolUse(Struct, frozen=True):
    """A call, and on whose behalf it runs."""

    agent: AgentId
    workspace: Workspace
    call: ToolCall


class ToolOutcome(Struct, frozen=True):
    """What the model is told. A refusal by a permission rule is an error like any other."""

    content: str
    error: bool = False


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
