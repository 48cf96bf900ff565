"""Requests and messages for the tests of the view."""

from sapwood.core.content import Text, ToolCall
from sapwood.core.view.request import Block, Message, MessagePart, Request, ToolResult

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
