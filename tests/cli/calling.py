"""What tests of the command line hold in their hands."""

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from sapwood.api import Sapwood


class Ran(NamedTuple):
    """How the program ended, and what it printed."""

    code: int
    out: str
    err: str


class Sapwooder(Protocol):
    """Runs the program with these arguments."""

    def __call__(self, *args: str, stdin: str | None = None) -> Ran: ...


Database = Callable[[Callable[[Sapwood], Coroutine[Any, Any, None]]], None]
