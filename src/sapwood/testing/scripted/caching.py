"""Prompt caches that remember what was really sent, so that a hit in a test means a hit.

`MarkedCache` works as Anthropic's does: a prefix is written where the client set a breakpoint, and
read where the longest written prefix ends at or shortly before one. `PrefixCache` works as
OpenAI's and Google's do: the longest common prefix with an earlier request is read, in steps.
Nothing shorter than the minimum is cached by either. The time is given, not looked up.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from sapwood.testing.scripted.usage import Segment, Spent, tokens

__all__ = ["MarkedCache", "PrefixCache"]

_LIFETIMES = {"5m": 300.0, "1h": 3600.0}
_LOOK_BACK = 20  # segments before a breakpoint in which Anthropic looks for an earlier write
_STEP = 128  # tokens
_PREFIX_LIFETIME = 600.0
_MOST = 500_000


class _End(Struct, frozen=True):
    """Where a segment ends, and what everything up to there amounts to."""

    size: int
    key: bytes
    mark: str | None


class _Memory:
    """Keys with the time until which they are kept. It never grows without end."""

    def __init__(self) -> None:
        self._until: dict[bytes, float] = {}

    def __contains__(self, key: bytes) -> bool:
        return key in self._until

    def alive(self, key: bytes, now: float) -> bool:
        return self._until.get(key, 0.0) > now

    def keep(self, key: bytes, until: float) -> None:
        self._until[key] = max(until, self._until.get(key, 0.0))
        if len(self._until) > _MOST:
            for old in list(islice(self._until, _MOST // 2)):
                del self._until[old]

    def forget(self) -> None:
        self._until.clear()


class MarkedCache:
    """A cache with breakpoints.

    >>> cache = MarkedCache(minimum=1)
    >>> turn = [Segment(b"rules of the house", "5m"), Segment(b"and a question")]
    >>> [
    ...     (spent.written, spent.read)
    ...     for spent in (cache.spend("m", turn, 0), cache.spend("m", turn, 1))
    ... ]
    [(4, 0), (0, 4)]
    """

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        self._memory = _Memory()

    def forget(self) -> None:
        self._memory.forget()

    def spend(self, scope: str, segments: Sequence[Segment], now: float) -> Spent:
        """What this request costs, having been written where it says."""
        ends = list(_ends(scope, segments))
        total = tokens(ends[-1].size) if ends else 0
        marked = [place for place, end in enumerate(ends) if end.mark is not None]
        marked = [place for place in marked if ends[place].size // 4 >= self.minimum]
        if not marked:
            return Spent(total)
        found = self._found(ends, marked, now)
        written, hour = self._write(ends, marked, found, now)
        read = 0 if found is None else ends[found].size // 4
        return Spent(total, read, written, hour)

    def _found(self, ends: list[_End], marked: list[int], now: float) -> int | None:
        """The end of the longest prefix that is in the cache."""
        for place in reversed(marked):
            for candidate in range(place, max(-1, place - _LOOK_BACK - 1), -1):
                if self._memory.alive(ends[candidate].key, now):
                    return candidate
        return None

    def _write(
        self, ends: list[_End], marked: list[int], found: int | None, now: float
    ) -> tuple[int, int]:
        """Writes every breakpoint; tokens written, and those of them kept for an hour."""
        written = hour = 0
        done = 0 if found is None else ends[found].size // 4
        for place in marked:
            end = ends[place]
            lifetime = _LIFETIMES.get(end.mark or "", _LIFETIMES["5m"])
            self._memory.keep(end.key, now + lifetime)
            new = max(0, end.size // 4 - done)
            written += new
            hour += new if end.mark == "1h" else 0
            done += new
        if found is not None:
            self._memory.keep(ends[found].key, now + _LIFETIMES["5m"])
        return written, hour


class PrefixCache:
    """A cache without breakpoints.

    >>> cache = PrefixCache(minimum=128)
    >>> old, new = Segment(b"x" * 600), Segment(b"y" * 600)
    >>> [cache.spend("m", turn, 0).read for turn in ([old], [old, new], [new])]
    [0, 128, 0]
    """

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        self._memory = _Memory()

    def forget(self) -> None:
        self._memory.forget()

    def spend(self, scope: str, segments: Sequence[Segment], now: float) -> Spent:
        """What this request costs, having been remembered."""
        data = b"".join(segment.data for segment in segments)
        total = tokens(len(data))
        if total < self.minimum:
            return Spent(total)
        keys = list(_steps(scope, data))
        known = 0
        while known < len(keys) and self._memory.alive(keys[known], now):
            known += 1
        for key in keys:
            self._memory.keep(key, now + _PREFIX_LIFETIME)
        read = known * _STEP
        return Spent(total, read if read >= self.minimum else 0)


def _ends(scope: str, segments: Sequence[Segment]) -> Iterator[_End]:
    size = 0
    chain = hashlib.blake2b(scope.encode(), digest_size=16)
    for segment in segments:
        size += len(segment.data)
        chain.update(b"%d:%d:%b" % (len(segment.data), len(segment.salt), segment.salt))
        chain.update(segment.data)
        yield _End(size, chain.digest(), segment.mark)


def _steps(scope: str, data: bytes) -> Iterator[bytes]:
    step = _STEP * 4
    chain = hashlib.blake2b(scope.encode(), digest_size=8)
    for start in range(0, len(data) - step + 1, step):
        chain.update(data[start : start + step])
        yield chain.digest()
