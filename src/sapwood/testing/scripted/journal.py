"""What the server was sent, and what it refused. Safe to read from any thread."""

import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from sapwood.testing.scripted.jsontree import Json, encode

__all__ = ["Journal", "Logged", "Outcome", "Rejection", "without_secrets"]

Outcome: TypeAlias = Literal["open", "answered", "rejected", "failed", "cut", "abandoned"]
_SECRET = frozenset("authorization cookie proxy-authorization x-api-key x-goog-api-key".split())
_HIDDEN = "(hidden)"


class Logged(Struct):
    """One request. `status` and `outcome` change while it is being answered.

    `raw` is the body byte for byte, `body` the JSON in it.

    >>> Logged(1, 0.0, "POST", "/v1/messages", {}, {}, {"model": "m"}).outcome
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


class Rejection(Struct, frozen=True):
    """A request that the provider would not have accepted, and why.

    >>> Rejection(1, "anthropic", "max_tokens: Field required").wire
    'anthropic'
    """

    number: int
    wire: str
    message: str
    param: str | None = None
    code: str | None = None


def without_secrets(values: Mapping[str, str]) -> dict[str, str]:
    """Headers or a query, with keys hidden.

    >>> without_secrets({"x-api-key": "sk-1", "accept": "*/*"})
    {'x-api-key': '(hidden)', 'accept': '*/*'}
    """
    return {
        name: _HIDDEN if name in _SECRET or name == "key" else value
        for name, value in values.items()
    }


class Journal:
    """The requests, in order; `keep` limits how many are held, for long runs."""

    def __init__(self, file: str | Path | None, keep: int | None) -> None:
        self._changed = threading.Condition()
        self._logged: deque[Logged] = deque(maxlen=keep)
        self._rejections: list[Rejection] = []
        self._count = 0
        self._busy = 0
        self._peak = 0
        self._file = file
        if file is not None:
            Path(file).touch()  # a path that cannot be written fails here and not later

    @property
    def requests(self) -> list[Logged]:
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
    ) -> Logged:
        """Notes a request. Secrets do not get in."""
        with self._changed:
            self._count += 1
            self._busy += 1
            self._peak = max(self._peak, self._busy)
            logged = Logged(
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

    def end(self, logged: Logged, outcome: Outcome, status: int | None = None) -> None:
        """Notes how a request ended. The first end counts."""
        with self._changed:
            if logged.outcome == "open":
                logged.outcome = outcome
                logged.status = status
                self._busy -= 1
                self._changed.notify_all()

    def reject(self, rejection: Rejection) -> None:
        """Notes a request that broke a rule."""
        with self._changed:
            self._rejections.append(rejection)
            self._changed.notify_all()

    def wait(self, count: int, seconds: float, *, ended: bool) -> bool:
        """Waits until so many requests have come, or have been answered; `False` if in vain."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._count - (self._busy if ended else 0) >= count, seconds
            )

    def clear(self) -> None:
        """Forgets what came. Requests that are being answered still count as such."""
        with self._changed:
            self._logged.clear()
            self._rejections.clear()
            self._count = self._peak = self._busy


def _line(logged: Logged) -> dict[str, object]:
    return {
        "number": logged.number,
        "at": logged.at,
        "method": logged.method,
        "path": logged.path,
        "query": logged.query,
        "headers": logged.headers,
        "body": logged.body,
    }
