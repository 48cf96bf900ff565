"""The moment at which a hook is called: what was told, and what is remembered of the session."""

import os
from collections.abc import Mapping
from copy import copy

from sapwood.app.folders import data_folder
from sapwood.app.tending.memory import Memory, last_session, remember_session
from sapwood.app.tending.told import Told, read_told

__all__ = ["Moment", "tending_folder"]


def tending_folder() -> str:
    """Where hooks keep what they remember."""
    return str(data_folder() / "tending")


class Moment:
    """One call of a hook."""

    def __init__(self, hook: str, content: bytes, environ: Mapping[str, str]) -> None:
        self.hook = hook
        self.told: Told = read_told(content)
        self.environ = environ
        self.folder = tending_folder()
        self.memory = Memory(self.folder, self.told.session)
        self.earlier = last_session(self.folder, self.told.folder)
        """The session that was seen in this project before this moment, and its transcript."""

    def remember(self) -> None:
        """Notes that the hook ran, and which session is at work in the project."""
        Memory(self.folder, "ran").put(f"{self.told.program}.{self.hook}", "")
        remember_session(self.folder, self.told.folder, self.told.session, self.told.transcript)

    def of(self, session: str) -> "Moment":
        """The same moment, as another session remembers it."""
        other = copy(self)
        other.memory = Memory(self.folder, session)
        return other

    @property
    def has_transcript(self) -> bool:
        """Whether there is a transcript to read; a new session has none yet."""
        return bool(self.told.transcript) and os.path.exists(self.told.transcript)
