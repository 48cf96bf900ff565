"""Requests to show to rules: one that keeps them, and pieces to break it with."""

from sapwood.core.content import Text, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.live import Live
from sapwood.core.state import State
from sapwood.core.view.request import Block, Message, MessagePart, Request, ToolResult
from sapwood.core.view.rules import Rule
from sapwood.testing import World

__all__ = ["CALL", "RESULT", "broken", "model", "request", "user"]

CALL, RESULT = ToolCall("1", "read"), ToolResult("1", "read", "found")


def user(*parts: MessagePart | str) -> Message:
    """A message of the user's side."""
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


def model(*parts: MessagePart | str) -> Message:
    """A message of the model."""
    said = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Message("assistant", said)


def request(*messages: Message, system: tuple[Block, ...] = ()) -> Request:
    """A request of these messages."""
    return Request("scripted", system, messages)


def broken(
    rule: Rule, shown: Request, state: State | None = None, live: Live | None = None
) -> list[str]:
    """What the rule says against a request."""
    world = World()
    agent = world.start()
    return rule.broken(shown, state or world.states[agent], live or world.lives[AgentId(agent)])
