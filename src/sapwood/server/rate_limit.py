"""Limits of requests for each principal, in this process: so many a second, and a burst."""

import time
from collections import OrderedDict

from sapwood.server.problems import Problem

__all__ = ["OpenStreams", "RateLimit"]

_MOST_KNOWN = 10_000


class RateLimit:
    """Lets `rate` requests a second pass for each principal, and `burst` of them at once (GCRA)."""

    def __init__(self, rate: float = 100.0, burst: int = 400) -> None:
        self._gap = 1.0 / rate
        self._room = burst / rate
        self._due: OrderedDict[str, float] = OrderedDict()

    def check(self, principal: str, now: float | None = None) -> None:
        """Counts a request. Raises `Problem` with `Retry-After` if it comes too early."""
        now = time.monotonic() if now is None else now
        due = max(self._due.get(principal, now), now)
        if due - now > self._room - self._gap:
            wait = due - now - self._room + self._gap
            raise Problem(
                429,
                "Too many requests",
                f"Too many requests. Try again in {wait:.1f} seconds.",
                headers={"Retry-After": str(max(1, round(wait)))},
            )
        self._due[principal] = due + self._gap
        self._due.move_to_end(principal)
        if len(self._due) > _MOST_KNOWN:
            self._due.popitem(last=False)


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
                "Too many at once",
                f"{self._most} {self._what}. End one, then try again.",
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
