"""What a tool tells the model when it did not do what was asked."""

from sapwood.core.errors import SapwoodError

__all__ = ["ToolError"]


class ToolError(SapwoodError):
    """The message says what happened and what the model can do instead."""
