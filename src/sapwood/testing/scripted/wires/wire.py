"""What a wire format must be able to do. One folder beside this file for each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from sapwood.core.content import ReplyPart
from sapwood.testing.scripted.asked import Asked
from sapwood.testing.scripted.jsontree import JsonObject
from sapwood.testing.scripted.signing import Mint
from sapwood.testing.scripted.usage import Segment, Spent

__all__ = ["Action", "Answer", "Event", "Post", "Refusal", "Stop", "Violation", "Wire"]

Action: TypeAlias = Literal["reply", "count", "compact"]
Stop: TypeAlias = Literal["end", "calls", "length"]


class Post(Struct, frozen=True):
    """What a client sent, read as JSON but not yet understood."""

    action: Action
    body: JsonObject
    headers: Mapping[str, str]
    model: str = ""
    """The model, where the path names it."""
    streams: bool = False
    """Whether the path asks for a stream."""
    allowed: frozenset[str] = frozenset()
    """Further top-level fields that this server lets pass."""


class Violation(Struct, frozen=True):
    """A rule of the provider that a request breaks, in the provider's words."""

    message: str
    param: str | None = None
    code: str | None = None
    status: int = 400


class Refusal(Struct, frozen=True):
    """An error as the provider answers it."""

    status: int
    body: JsonObject
    headers: Mapping[str, str] = {}


class Event(Struct, frozen=True):
    """One event of a stream, encoded; `chars` of what the model says are in it."""

    data: bytes
    chars: int = 0
    closing: bool = False
    """Whether all that the model says came before it."""


class Answer(Struct, frozen=True):
    """A reply that is ready to be written. Calls have their ids."""

    asked: Asked
    name: str
    """32 hexadecimal digits that no other reply has."""
    parts: tuple[ReplyPart, ...]
    stop: Stop
    spent: Spent
    mint: Mint
    created: int
    piece: int
    """Characters in a piece of the stream."""
    breaks: tuple[int, ...] = ()
    """Characters after which a piece must end."""


class Wire(Protocol):
    """A provider's format: pure functions from what was sent and what is said to what is sent.

    A module can be one.
    """

    name: str
    vendor: str

    def first_violation(self, post: Post) -> Violation | None:
        """The first rule that the request breaks."""
        ...

    def read(self, post: Post) -> Asked:
        """The neutral request. The request breaks no rule, or rules are off."""
        ...

    def segments(self, post: Post) -> Sequence[Segment]:
        """The request as a provider's cache sees it."""
        ...

    def call_id(self, asked: Asked, mint: Mint) -> str:
        """An id for a tool call."""
        ...

    def whole(self, answer: Answer) -> JsonObject:
        """The reply as one JSON object."""
        ...

    def events(self, answer: Answer) -> Iterator[Event]:
        """The reply as a stream."""
        ...

    def counted(self, total: int) -> JsonObject:
        """The answer to a request to count tokens."""
        ...

    def invalid(self, violation: Violation, mint: Mint) -> Refusal:
        """The request breaks a rule."""
        ...

    def unauthorized(self, mint: Mint) -> Refusal:
        """The key is wrong."""
        ...

    def unknown_model(self, model: str, mint: Mint) -> Refusal:
        """There is no such model."""
        ...

    def too_long(self, answer: Answer, limit: int) -> Refusal | list[Event]:
        """The request does not fit in the model's window; some say so in a stream."""
        ...

    def failed(self, status: int, retry_after: float, mint: Mint) -> Refusal:
        """The provider fails, as scripted."""
        ...

    def broken(self, answer: Answer, status: int, sent: int) -> list[Event]:
        """The provider fails in the middle of a stream, after so many events."""
        ...
