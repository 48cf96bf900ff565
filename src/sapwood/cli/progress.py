"""A bar on stderr while something takes long. Nobody's screen, no bar."""

import sys
import time
from types import TracebackType

__all__ = ["Progress"]

_WIDTH = 24
_EVERY = 0.1


class Progress:
    """How much is done of so many bytes, redrawn in place a few times a second."""

    def __init__(self, total: int) -> None:
        self._total = max(total, 1)
        self._done = 0
        self._what = ""
        self._shown = sys.stderr.isatty()
        self._started = time.monotonic()
        self._drawn = 0.0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def at(self, what: str) -> None:
        """Says what is being worked on."""
        self._what = what

    def advance(self, done: int) -> None:
        """So much more is done."""
        self._done += done
        now = time.monotonic()
        if self._shown and now - self._drawn >= _EVERY:
            self._drawn = now
            sys.stderr.write(f"\r\x1b[K{self.line(now - self._started)}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the bar away, so that something can be printed."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def line(self, seconds: float) -> str:
        """The bar after so many seconds."""
        share = min(self._done / self._total, 1.0)
        full = round(share * _WIDTH)
        rate = self._done / max(seconds, 0.001) / 1_000_000
        return f"{'█' * full}{'░' * (_WIDTH - full)} {share:>4.0%} {rate:.0f} MB/s {self._what}"
