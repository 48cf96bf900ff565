"""What can be wrong with an MCP server."""

from sapwood.core.errors import SapwoodError


class McpServerError(SapwoodError):
    """A server failed. The message names the server and what it failed to do."""


class McpConnectionLost(McpServerError):
    """The connection ended. If `maybe_done`, the call may have taken effect."""

    def __init__(self, message: str, maybe_done: bool) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done


class McpLoginNeeded(McpServerError):
    """The server refuses requests without a login. `expired` if it accepted the stored one once."""

    def __init__(self, message: str, *, expired: bool) -> None:
        super().__init__(message)
        self.expired = expired
