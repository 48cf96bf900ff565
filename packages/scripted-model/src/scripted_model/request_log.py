"""Records every request and every rejection. Safe to read from any thread."""

import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from scripted_model.json_values import Json, encode

_SECRET = frozenset("authorization cookie proxy-authorization x-api-key x-goog-api-key".split())
_HIDDEN = "(hidden)"


Outcome: TypeAlias = Literal["open", "answered", "rejected", "failed", "cut", "abandoned"]


class LoggedRequest(Struct):
    """One recorded request. `status` and `outcome` are set when the response is sent.

    `raw` is the body byte for byte, `body` is the parsed JSON.

    >>> LoggedRequest(1, 0.0, "POST", "/v1/messages", {}, {}, {"model": "m"}).outcome
    'open'
    """

    number: int
    at: float
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    wire: str = ""
    status: int | None = None
    outcome: Outcome = "open"
    raw: bytes = b""

    @property
    def counts(self) -> bool:
        """Whether the request only asks how many tokens it has."""
        return self.path.endswith(("/count_tokens", "/input_tokens", ":countTokens"))


class Rejection(Struct, frozen=True):
    """A request that the real API would have rejected, with its error message.

    >>> Rejection(1, "anthropic", "max_tokens: Field required").wire
    'anthropic'
    """

    number: int
    wire: str
    message: str
    param: str | None = None
    code: str | None = None


def without_secrets(values: Mapping[str, str]) -> dict[str, str]:
    """Returns headers or query parameters with API keys hidden.

    >>> without_secrets({"x-api-key": "sk-1", "accept": "*/*"})
    {'x-api-key': '(hidden)', 'accept': '*/*'}
    """
    return {
        name: _HIDDEN if name in _SECRET or name == "key" else value
        for name, value in values.items()
    }


class RequestLog:
    """The requests, in order. `keep` limits their number in memory."""

    def __init__(self, file: str | Path | None, keep: int | None) -> None:
        self._changed = threading.Condition()
        self._logged: deque[LoggedRequest] = deque(maxlen=keep)
        self._rejections: list[Rejection] = []
        self._count = 0
        self._busy = 0
        self._peak = 0
        self._file = file
        if file is not None:
            Path(file).touch()  # a path that cannot be written fails here, not later

    @property
    def requests(self) -> list[LoggedRequest]:
        with self._changed:
            return list(self._logged)

    @property
    def rejections(self) -> list[Rejection]:
        with self._changed:
            return list(self._rejections)

    @property
    def count(self) -> int:
        with self._changed:
            return self._count

    @property
    def peak(self) -> int:
        with self._changed:
            return self._peak

    def begin(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: Json,
        raw: bytes = b"",
    ) -> LoggedRequest:
        """Records a request, without API keys."""
        with self._changed:
            self._count += 1
            self._busy += 1
            self._peak = max(self._peak, self._busy)
            logged = LoggedRequest(
                self._count,
                time.time(),
                method,
                path,
                without_secrets(query),
                without_secrets(headers),
                body,
                raw=raw,
            )
            self._logged.append(logged)
            self._changed.notify_all()
        if self._file is not None:
            with open(self._file, "ab") as file:
                file.write(encode(_line(logged)) + b"\n")
        return logged

    def end(self, logged: LoggedRequest, outcome: Outcome, status: int | None = None) -> None:
        """Records the outcome of a request. Only the first outcome counts."""
        with self._changed:
            if logged.outcome == "open":
                logged.outcome = outcome
                logged.status = status
                self._busy -= 1
                self._changed.notify_all()

    def reject(self, rejection: Rejection) -> None:
        """Records a rejection."""
        with self._changed:
            self._rejections.append(rejection)
            self._changed.notify_all()

    def wait(self, count: int, seconds: float, *, answered: bool) -> bool:
        """Waits for `count` requests, or answered requests. Returns `False` after the timeout."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._count - (self._busy if answered else 0) >= count, seconds
            )

    def clear(self) -> None:
        """Deletes requests and rejections. Requests without a response yet still count."""
        with self._changed:
            self._logged.clear()
            self._rejections.clear()
            self._count = self._peak = self._busy


def _line(logged: LoggedRequest) -> dict[str, object]:
    return {
        "number": logged.number,
        "at": logged.at,
        "method": logged.method,
        "path": logged.path,
        "query": logged.query,
        "headers": logged.headers,
        "body": logged.body,
    }
