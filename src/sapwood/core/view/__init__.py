"""The view: builds a request from a context, as a pure function, and checks requests."""

from sapwood.core.view.build import VIEW, view
from sapwood.core.view.request import Block, Message, Request, ToolResult
from sapwood.core.view.request_rules import check

__all__ = ["VIEW", "Block", "Message", "Request", "ToolResult", "check", "view"]
