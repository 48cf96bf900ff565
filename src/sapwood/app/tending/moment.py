"""The moment at which a hook is called: what was told, and what is remembered of the session."""

import os
from collections.abc import Mapping

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
        self.told: Told = read_told(content)
        self.environ = environ
        self._hook = hook
        self._folder = tending_folder()
        self._earlier = last_session(self._folder, self.told.folder)
        self.memory = Memory(self._folder, self.told.session)

    def remember(self) -> None:
        """Notes that the hook ran, and which session is at work in the project."""
        told = self.told
        Memory(self._folder, "ran").put(f"{told.program}.{self._hook}", "")
        if told.agent_id is None and told.session and told.transcript:
            self.memory.put("transcript", told.transcript)
            remember_session(self._folder, told.folder, told.session, told.transcript)

    @property
    def transcript(self) -> str:
        """The session's own transcript, also when a subagent is at work; empty if none is there."""
        path = self.told.transcript if self.told.agent_id is None else ""
        path = path or self.memory.get("transcript")
        return path if path and os.path.exists(path) else ""

    def earlier(self) -> tuple[Memory, str, str] | None:
        """The session that was at work in this project before: memory, id and transcript."""
        session, transcript = self._earlier
        if not transcript or session == self.told.session or not os.path.exists(transcript):
            return None
        return Memory(self._folder, session), session, transcript
