"""Requests to a model, as a program stored them in its transcript."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from sapwood.core.view.request import Request


class SentRequest(Struct, frozen=True):
    """A request, by the hashes of its parts. `number` counts the requests of the transcript."""

    number: int
    at: int
    model: str
    digest: str
    shape: str
    messages: tuple[str, ...]


class RebuiltRequest(Struct, frozen=True):
    """The request with its texts. `missing` counts the parts that the transcript does not have."""

    request: Request
    missing: int = 0


class SentRequests(Struct, frozen=True):
    """The part `sent_requests` of a program.

    `read` returns the requests of a transcript, oldest first, and raises `OSError`. `rebuild`
    returns one of them with its texts.
    """

    read: Callable[[Path], list[SentRequest]]
    rebuild: Callable[[Path, SentRequest], RebuiltRequest]
