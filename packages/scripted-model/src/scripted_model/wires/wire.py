"""The protocol of a wire format, and the values and tables that all wire formats share."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from scripted_model.conversation import ModelRequest
from scripted_model.json_values import JsonObject, encode
from scripted_model.prepared_reply import PreparedReply
from scripted_model.signatures import IdGenerator
from scripted_model.usage import Segment

_RETRYABLE = frozenset({408, 409, 429, 503, 529})

Action: TypeAlias = Literal["reply", "count", "compact"]


class Post(Struct, frozen=True):
    """A POST request to an API. `body` is parsed JSON that is not checked yet."""

    action: Action
    body: JsonObject
    headers: Mapping[str, str]
    model: str = ""
    """The model, if the path names it."""
    streams: bool = False
    """Whether the path asks for a stream."""
    allowed: frozenset[str] = frozenset()
    """Further top-level fields that this server accepts."""


class Violation(Struct, frozen=True):
    """The rule that a request breaks, in the words of the provider."""

    message: str
    param: str | None = None
    code: str | None = None
    status: int = 400


class ErrorResponse(Struct, frozen=True):
    """An error in the form of the provider."""

    status: int
    body: JsonObject
    headers: Mapping[str, str] = {}


class StreamEvent(Struct, frozen=True):
    """One encoded event of a stream. It contains `chars` characters of the reply."""

    data: bytes
    chars: int = 0
    closing: bool = False
    """Whether the whole reply was sent before this event."""


class Wire(Protocol):
    """A wire format: pure functions that parse and check requests, and encode replies and errors.

    Each package beside this file is one.
    """

    name: str
    vendor: str

    def first_violation(self, post: Post) -> Violation | None:
        """Returns the first rule that the request breaks."""
        ...

    def parse_request(self, post: Post) -> ModelRequest:
        """Converts a request. It breaks no rule, unless validation is off."""
        ...

    def cache_segments(self, post: Post) -> Sequence[Segment]:
        """Returns the request in the order in which the prompt cache of the provider reads it."""
        ...

    def new_call_id(self, request: ModelRequest, ids: IdGenerator) -> str:
        """Returns an id for a tool call."""
        ...

    def response_body(self, prepared: PreparedReply) -> JsonObject:
        """Returns the reply as one JSON object."""
        ...

    def stream_events(self, prepared: PreparedReply) -> Iterator[StreamEvent]:
        """Yields the reply as the events of a stream."""
        ...

    def token_count(self, total: int) -> JsonObject:
        """Returns the response to a request to count tokens."""
        ...

    def invalid_request_error(self, violation: Violation, ids: IdGenerator) -> ErrorResponse:
        """The error for a request that breaks a rule."""
        ...

    def wrong_key_error(self, ids: IdGenerator) -> ErrorResponse:
        """The error for a wrong API key."""
        ...

    def unknown_model_error(self, model: str, ids: IdGenerator) -> ErrorResponse:
        """The error for a model that does not exist."""
        ...

    def context_length_error(
        self, prepared: PreparedReply, limit: int
    ) -> ErrorResponse | list[StreamEvent]:
        """The error for a request that is longer than the context window of the model."""
        ...

    def scripted_error(self, status: int, retry_after: float, ids: IdGenerator) -> ErrorResponse:
        """The error that the script asks for."""
        ...

    def stream_error_events(
        self, prepared: PreparedReply, status: int, sent: int
    ) -> list[StreamEvent]:
        """The error that the script asks for in the middle of a stream, after `sent` events."""
        ...


class Shape(Struct, frozen=True):
    """The fields that a JSON object may have and must have."""

    allowed: frozenset[str]
    required: tuple[str, ...]

    def unknown(self, tree: JsonObject) -> str | None:
        """Returns the first field that is not allowed."""
        if tree.keys() <= self.allowed:
            return None
        return next(name for name in tree if name not in self.allowed)

    def missing(self, tree: JsonObject) -> str | None:
        """Returns the first required field that is absent."""
        for name in self.required:
            if name not in tree:
                return name
        return None

    def with_fields(self, *names: str) -> "Shape":
        """Returns the same shape with further allowed fields."""
        return Shape(self.allowed | frozenset(names), self.required)


def shape(words: str) -> Shape:
    """Returns a shape from field names. Names with a `!` are required.

    >>> shape("type! text! cache_control").missing({"type": "text"})
    'text'
    """
    names = words.split()
    required = tuple(name.removesuffix("!") for name in names if name.endswith("!"))
    return Shape(frozenset(name.removesuffix("!") for name in names), required)


def shapes(table: Mapping[str, str]) -> dict[str, Shape]:
    """Returns a shape for each name. Names of one row are separated by spaces."""
    return {name: shape(words) for names, words in table.items() for name in names.split()}


def named_event(
    name: str, data: JsonObject, chars: int = 0, *, closing: bool = False
) -> StreamEvent:
    """Encodes a server-sent event with a name."""
    return StreamEvent(b"event: %b\ndata: %b\n\n" % (name.encode(), encode(data)), chars, closing)


def plain_event(
    data: JsonObject, chars: int = 0, *, closing: bool = False, line: bytes = b"\n"
) -> StreamEvent:
    """Encodes a server-sent event without a name."""
    return StreamEvent(b"data: %b%b%b" % (encode(data), line, line), chars, closing)


def retry_headers(status: int, seconds: float) -> dict[str, str]:
    """Returns the `retry-after` headers of an error with this status.

    >>> retry_headers(429, 2), retry_headers(529, 0.05), retry_headers(500, 1)
    ({'retry-after': '2'}, {'retry-after': '1', 'retry-after-ms': '50'}, {})
    """
    if status not in _RETRYABLE or seconds <= 0:
        return {}
    headers = {"retry-after": str(math.ceil(seconds))}
    if seconds != int(seconds):
        headers["retry-after-ms"] = str(round(seconds * 1000))
    return headers
