"""The exact arguments of tool calls that contain a secret, in memory only.

The log, the screens and the traces have the masked arguments. The tool gets the exact ones, because
what runs must be what the model asked for and a person approved: a key in a file, not its mask.
They are never stored. If the process stops before a call has run, its exact arguments are lost.
"""

from collections.abc import Sequence

from msgspec import structs

from sapwood.core.content import ReplyPart, ToolCall
from sapwood.core.ids import AgentId

_MASK = "[secret: "


class ExactArguments:
    """Holds the arguments of the calls of the newest reply of each agent."""

    def __init__(self) -> None:
        self._held: dict[AgentId, tuple[int, dict[str, str]]] = {}

    def hold(self, agent: AgentId, turn: int, parts: Sequence[ReplyPart]) -> None:
        """Keeps the arguments of the calls in a reply, in place of those of earlier replies."""
        calls = {part.id: part.args for part in parts if isinstance(part, ToolCall)}
        if calls:
            self._held[agent] = (turn, calls)
        else:
            self._held.pop(agent, None)

    def call(self, agent: AgentId, turn: int, stored: ToolCall) -> ToolCall | None:
        """Returns the stored call with its exact arguments; None if they are lost."""
        if _MASK not in stored.args:
            return stored
        held_turn, calls = self._held.get(agent, (0, {}))
        exact = calls.get(stored.id) if held_turn == turn else None
        return None if exact is None else structs.replace(stored, args=exact)
