"""The sessions of all programs on this machine, with titles, for a live list.

Files are looked at again every few seconds at most. A title needs the end of a file: some are read
at each look, so a list with many sessions gets its titles one look after the other.
"""

import asyncio
import time

from msgspec import Struct

from sapwood.conversation.call import OpenSpace
from sapwood.core.errors import SapwoodError
from sapwood.core.program_session import ProgramSession
from sapwood.programs.transcripts.discovery import discover
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.programs.transcripts.session_reader import tail_session
from sapwood.programs.transcripts.transcript_events import imported_agent_id
from sapwood.turns.program_sessions import session_agent

_SECONDS = 4.0
_MAX_SESSIONS = 200
_TITLES = 20
_LENGTH = 80


class MachineSession(Struct, frozen=True):
    """A session, and what it is about; the title is empty until the file was read."""

    found: FoundSession
    title: str = ""

    @property
    def key(self) -> str:
        """The program and its own id of the session."""
        return f"{self.found.source}:{self.found.id}"


class MachineSessions:
    """The sessions of this machine, newest first."""

    def __init__(self) -> None:
        self._looked = float("-inf")
        self._found: tuple[MachineSession, ...] = ()
        self._titles: dict[str, str] = {}
        self._lock = asyncio.Lock()

    async def newest(self) -> tuple[MachineSession, ...]:
        """At most 200 sessions."""
        async with self._lock:
            if time.monotonic() - self._looked > _SECONDS:
                self._found = await asyncio.to_thread(self._look)
                self._looked = time.monotonic()
        return self._found

    async def unimported(self, space: OpenSpace) -> list[MachineSession]:
        """The sessions that are no conversation of the space yet, newest first.

        A session that Sapwood itself has in a program is one of its conversations.
        """
        found: list[MachineSession] = []
        for each in await self.newest():
            session = ProgramSession(each.found.source, each.found.id)
            imported = imported_agent_id(session.program, session.id)
            if await space.log.summary(space.space, imported) is not None:
                continue
            if await session_agent(space.log, space.space, session) is None:
                found.append(each)
        return found

    async def get(self, key: str) -> FoundSession | None:
        """The session with this key; None if there is none any more."""
        return next((each.found for each in await self.newest() if each.key == key), None)

    def _look(self) -> tuple[MachineSession, ...]:
        found = discover()[:_MAX_SESSIONS]
        untitled = [each for each in found if str(each.path) not in self._titles]
        for each in untitled[:_TITLES]:
            self._titles[str(each.path)] = _title(each)
        return tuple(MachineSession(each, self._titles.get(str(each.path), "")) for each in found)


def _title(found: FoundSession) -> str:
    """The title that the program gave a session, else its first request."""
    try:
        session = tail_session(found.path, found.source)
    except SapwoodError:
        return ""
    words = " ".join((session.title or session.request).split())
    return words if len(words) <= _LENGTH else f"{words[: _LENGTH - 1]}…"
