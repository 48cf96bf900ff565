"""Tells a person that the database is away, and that it is back: once each, whoever noticed.

The log and the engine share a database and find out by themselves, in threads and sessions of
their own. An outage is over when something has answered and nothing has failed for a moment.
"""

import asyncio
import logging
from contextlib import suppress

__all__ = ["Outages"]

_SETTLED = 1.0
_log = logging.getLogger("sapwood.database")


class Outages:
    """Belongs to the event loop that it was made in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._told = False
        self._settling: asyncio.TimerHandle | None = None

    def hear(self, answers: bool) -> None:
        """Somebody found that the database answers, or does not. From any thread."""
        with suppress(RuntimeError):  # after the end of the loop there is nobody to tell
            self._loop.call_soon_threadsafe(self._heard, answers)

    def close(self) -> None:
        """Nobody listens any more, so what has answered is back."""
        if self._settling is not None:
            self._settling.cancel()
            self._back()

    def _heard(self, answers: bool) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
        if not answers:
            self._away()
        elif self._told:
            self._settling = self._loop.call_later(_SETTLED, self._back)

    def _away(self) -> None:
        if not self._told:
            self._told = True
            _log.warning("The database does not answer. What is under way waits for it.")

    def _back(self) -> None:
        self._settling = None
        self._told = False
        _log.warning("The database is back. What was under way goes on.")
