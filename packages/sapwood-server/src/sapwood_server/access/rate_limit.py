"""A limit of requests for each key: so many a second, and a burst. And of open streams."""

import math
import time
from collections import OrderedDict
from collections.abc import Mapping

from sapwood_server.problems import Problem

_MAX_KNOWN = 10_000


class RateLimit:
    """Lets `rate` requests a second pass for each key, and `burst` of them at once (GCRA).

    A rate of 0 is no limit.
    """

    def __init__(self, rate: float = 100.0, burst: int = 400) -> None:
        self._gap = 1.0 / rate if rate else 0.0
        self._room = max(burst, 1) * self._gap
        self._due: OrderedDict[str, float] = OrderedDict()
        self._used: dict[str, float] = {}

    def check(self, key: str, now: float | None = None) -> None:
        """Counts a request. Raises `Problem` with `Retry-After` if it comes too early."""
        if not self._gap:
            return
        now = time.monotonic() if now is None else now
        due = max(self._due.get(key, now), now)
        wait = due + self._gap - now - self._room
        if wait > 1e-9:
            raise Problem(
                429,
                "Too many requests",
                f"Too many requests. Try again in {wait:.1f} seconds.",
                headers={"Retry-After": str(math.ceil(wait))},
            )
        self._due[key] = due + self._gap
        self._due.move_to_end(key)
        self._used[key] = self._used.get(key, 0.0) + self._gap
        if len(self._due) > _MAX_KNOWN:
            self._used.pop(self._due.popitem(last=False)[0], None)

    def take_used(self) -> dict[str, float]:
        """What passed since the last call, in seconds for each key."""
        used, self._used = self._used, {}
        return used

    def correct(self, ahead: Mapping[str, float], now: float | None = None) -> None:
        """Takes over by how many seconds keys were ahead when `take_used` was told to others."""
        now = time.monotonic() if now is None else now
        for key, seconds in ahead.items():
            if key in self._due:
                self._due[key] = now + max(0.0, seconds) + self._used.get(key, 0.0)


class OpenStreams:
    """Counts what each principal has open at once: event streams, or uploads."""

    def __init__(self, most: int, what: str = "event streams are open") -> None:
        self._most = most
        self._what = what
        self._open: dict[str, int] = {}

    def enter(self, principal: str) -> None:
        """Counts one more. Raises `Problem` if there are too many."""
        if self._open.get(principal, 0) >= self._most:
            raise Problem(
                429,
                "Too many concurrent requests",
                f"{self._most} {self._what}. Close one, then try again.",
                headers={"Retry-After": "5"},
            )
        self._open[principal] = self._open.get(principal, 0) + 1

    def leave(self, principal: str) -> None:
        """Counts one less."""
        left = self._open.get(principal, 0) - 1
        if left > 0:
            self._open[principal] = left
        else:
            self._open.pop(principal, None)
