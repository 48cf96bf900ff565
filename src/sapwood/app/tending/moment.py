"""The moment at which a hook is called: what was told, and which sessions that is about."""

import os
from collections.abc import Mapping

from sapwood.app.tending.memory import Memory, last_session, remember_session
from sapwood.app.tending.tended import Tended, tending_folder
from sapwood.app.tending.told import Told, read_told

__all__ = ["Moment"]


class Moment:
    """One call of a hook."""

    def __init__(self, hook: str, content: bytes, environ: Mapping[str, str]) -> None:
        self.told: Told = read_told(content)
        self.environ = environ
        self._hook = hook
        self._earlier = last_session(tending_folder(), self.told.folder)

    def remember(self) -> None:
        """Notes that the hook ran, and which session is at work in the project."""
        told = self.told
        Memory(tending_folder(), "ran").put(f"{told.program}.{self._hook}", "")
        if told.agent_id is None and told.session and told.transcript:
            Memory(tending_folder(), told.session).put("transcript", told.transcript)
            remember_session(tending_folder(), told.folder, told.session, told.transcript)

    def session(self) -> Tended | None:
        """The session itself, also while a subagent is at work; None without a transcript."""
        path = self.told.transcript if self.told.agent_id is None else ""
        path = path or Memory(tending_folder(), self.told.session).get("transcript")
        return self._tended(path, self.told.session)

    def subagent(self) -> Tended | None:
        """The subagent that is spoken of, though its transcript may not be written yet.

        The program's own summariser, which has no type, is none.
        """
        told = self.told
        if not told.agent_type or not told.agent_transcript_path:
            return None
        return Tended(told.agent_transcript_path, told.agent_id or "", told.folder)

    def earlier(self) -> Tended | None:
        """The session that was at work in this project before."""
        session, path = self._earlier
        return None if session == self.told.session else self._tended(path, session)

    def _tended(self, path: str, session: str) -> Tended | None:
        if not path or not os.path.exists(path):
            return None
        return Tended(path, session, self.told.folder)
