"""Whether the server answers, as those who talk to it find out."""

from collections.abc import Callable

__all__ = ["Presence", "Tell"]

Tell = Callable[[bool], None]
"""Told False whenever a session is lost or refused, and True when one answers again."""


class Presence:
    """One for all sessions of a log."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._away = False

    def lost(self) -> None:
        """A session broke off, or could not be opened."""
        self._away = True
        if self._tell:
            self._tell(False)

    def answered(self) -> None:
        """The server did what it was asked."""
        if self._away:
            self._away = False
            if self._tell:
                self._tell(True)
