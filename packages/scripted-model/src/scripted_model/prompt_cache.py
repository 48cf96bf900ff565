"""Prompt caches that store what clients really sent, so that a hit in a test is a real hit.

`BreakpointCache` works like the cache of Anthropic. The client sets breakpoints, and each one
stores the prefix that ends there. A later request reads the longest stored prefix that ends at one
of its breakpoints or shortly before it. `PrefixCache` works like the caches of OpenAI and Google: a
request reads the longest prefix that it shares with an earlier request, in fixed steps. Neither
stores a prefix below the minimum length. Callers pass the time.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from scripted_model.usage import Segment, TokenUsage, tokens

_LIFETIMES = {"5m": 300.0, "1h": 3600.0}
_LOOK_BACK = 20  # segments before a breakpoint in which Anthropic looks for an earlier write
_STEP = 128  # tokens
_PREFIX_LIFETIME = 600.0
_MAX_KEYS = 500_000


class _End(Struct, frozen=True):
    """The end of a segment: the size and the hash of everything before it."""

    size: int
    key: bytes
    cache_ttl: str | None


class _Memory:
    """Keys with the time at which they expire. The number of keys is limited."""

    def __init__(self) -> None:
        self._until: dict[bytes, float] = {}

    def alive(self, key: bytes, now: float) -> bool:
        return self._until.get(key, 0.0) > now

    def keep(self, key: bytes, until: float) -> None:
        self._until[key] = max(until, self._until.get(key, 0.0))
        if len(self._until) > _MAX_KEYS:
            for old in list(islice(self._until, _MAX_KEYS // 2)):
                del self._until[old]

    def clear(self) -> None:
        self._until.clear()


class BreakpointCache:
    """A cache with breakpoints.

    >>> cache = BreakpointCache(minimum=1)
    >>> turn = [Segment(b"rules of the house", "5m"), Segment(b"and a question")]
    >>> [
    ...     (usage.cache_write, usage.cache_read)
    ...     for usage in (cache.record("m", turn, 0), cache.record("m", turn, 1))
    ... ]
    [(4, 0), (0, 4)]
    """

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        self._memory = _Memory()

    def clear(self) -> None:
        """Deletes all entries."""
        self._memory.clear()

    def record(self, scope: str, segments: Sequence[Segment], now: float) -> TokenUsage:
        """Stores the request at its breakpoints and returns its usage."""
        ends = list(_ends(scope, segments))
        total = tokens(ends[-1].size) if ends else 0
        breakpoints = [place for place, end in enumerate(ends) if end.cache_ttl is not None]
        breakpoints = [place for place in breakpoints if ends[place].size // 4 >= self.minimum]
        if not breakpoints:
            return TokenUsage(total)
        found = self._found(ends, breakpoints, now)
        written, hour = self._write(ends, breakpoints, found, now)
        read = 0 if found is None else ends[found].size // 4
        return TokenUsage(total, read, written, hour)

    def _found(self, ends: list[_End], breakpoints: list[int], now: float) -> int | None:
        """The end of the longest prefix in the cache."""
        for place in reversed(breakpoints):
            for candidate in range(place, max(-1, place - _LOOK_BACK - 1), -1):
                if self._memory.alive(ends[candidate].key, now):
                    return candidate
        return None

    def _write(
        self, ends: list[_End], breakpoints: list[int], found: int | None, now: float
    ) -> tuple[int, int]:
        """Stores every breakpoint. Returns the tokens written, and those with one hour."""
        written = hour = 0
        done = 0 if found is None else ends[found].size // 4
        for place in breakpoints:
            end = ends[place]
            lifetime = _LIFETIMES.get(end.cache_ttl or "", _LIFETIMES["5m"])
            self._memory.keep(end.key, now + lifetime)
            new = max(0, end.size // 4 - done)
            written += new
            hour += new if end.cache_ttl == "1h" else 0
            done += new
        if found is not None:
            self._memory.keep(ends[found].key, now + _LIFETIMES["5m"])
        return written, hour


class PrefixCache:
    """A cache without breakpoints.

    >>> cache = PrefixCache(minimum=128)
    >>> old, new = Segment(b"x" * 600), Segment(b"y" * 600)
    >>> [cache.record("m", turn, 0).cache_read for turn in ([old], [old, new], [new])]
    [0, 128, 0]
    """

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        self._memory = _Memory()

    def clear(self) -> None:
        """Deletes all entries."""
        self._memory.clear()

    def record(self, scope: str, segments: Sequence[Segment], now: float) -> TokenUsage:
        """Stores the request and returns its usage."""
        data = b"".join(segment.data for segment in segments)
        total = tokens(len(data))
        if total < self.minimum:
            return TokenUsage(total)
        keys = list(_steps(scope, data))
        known = 0
        while known < len(keys) and self._memory.alive(keys[known], now):
            known += 1
        for key in keys:
            self._memory.keep(key, now + _PREFIX_LIFETIME)
        read = known * _STEP if known * _STEP >= self.minimum else 0
        return TokenUsage(total, read, total - read)


def _ends(scope: str, segments: Sequence[Segment]) -> Iterator[_End]:
    size = 0
    chain = hashlib.blake2b(scope.encode(), digest_size=16)
    for segment in segments:
        size += len(segment.data)
        chain.update(b"%d:%d:%b" % (len(segment.data), len(segment.salt), segment.salt))
        chain.update(segment.data)
        yield _End(size, chain.digest(), segment.cache_ttl)


def _steps(scope: str, data: bytes) -> Iterator[bytes]:
    step = _STEP * 4
    chain = hashlib.blake2b(scope.encode(), digest_size=8)
    for start in range(0, len(data) - step + 1, step):
        chain.update(data[start : start + step])
        yield chain.digest()
