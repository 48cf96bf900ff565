"""What tests of the command line hold in their hands."""

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from sapwood.api import Sapwood

KEY = "sk-ant-scripted-0123456789"
"""The API key of the scripted model."""


class Ran(NamedTuple):
    """How the program ended, and what it printed."""

    code: int
    out: str
    err: str


class Sapwooder(Protocol):
    """Runs the program with these arguments."""

    def __call__(self, *args: str, stdin: str | None = None) -> Ran: ...


Database = Callable[[Callable[[Sapwood], Coroutine[Any, Any, None]]], None]
