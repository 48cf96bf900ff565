"""The view: from a context to a request. A pure function, built of small rules."""

from sapwood.core.view.build import view
from sapwood.core.view.request import Block, Message, Request, ToolResult
from sapwood.core.view.rules import check

__all__ = ["Block", "Message", "Request", "ToolResult", "check", "view"]
