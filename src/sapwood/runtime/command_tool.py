"""The tool by which models use slash commands, as the runtime needs it.

`sapwood.conversation.model_tool` provides it.
"""

from typing import Protocol

from msgspec import Struct

from sapwood.core.calling import ToolOutcome, ToolSpec
from sapwood.core.content import ToolCall
from sapwood.core.state import State

__all__ = ["SLASH", "CommandTool", "Parked"]

SLASH = "slash"
"""The name of the tool."""


class Parked(Struct, frozen=True):
    """The call cannot end yet; look again after so many seconds, or when woken."""

    delay: float


class CommandTool(Protocol):
    """Carries out slash commands for a model."""

    def spec(self) -> ToolSpec:
        """The tool as a model is offered it."""
        ...

    def waits(self, call: ToolCall) -> bool:
        """Whether the call may have to wait, so that its start has to be in the log."""
        ...

    async def run(self, state: State, call: ToolCall, model: str) -> ToolOutcome | Parked:
        """The result of the call, or how long it has to wait. The same call always acts once."""
        ...
