"""An MCP server as it is configured: a program to start, or an address to call."""

from msgspec import Struct

from sapwood.core.errors import SapwoodError

__all__ = ["Server", "ServerError"]


class Server(Struct, frozen=True):
    """How to reach a server. `command` starts a program; `url` is that of a running one.

    The program gets the few variables that it needs to run, such as PATH, and `env`; none of the
    user's keys unless they are named there. Times are in seconds.

    >>> Server(command=("python", "-m", "wood_server")).url
    ''
    """

    command: tuple[str, ...] = ()
    url: str = ""
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    folder: str = ""
    start_timeout: float = 30
    call_timeout: float = 120


class ServerError(SapwoodError):
    """A server does not do its part. The message names it and says what was tried."""
