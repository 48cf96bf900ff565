"""Records what people do in a program itself, such as Claude Code, while a page shows the session.

The page asks for its list every few seconds. Each time, the server looks whether the transcript of
the shown conversation has changed, and imports what is new in the background.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from sapwood.conversation.call import ProgramSessions
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.program_session import ProgramSession
from sapwood.core.state import State
from sapwood.programs.registry import program

_log = logging.getLogger("sapwood.server")


class SessionCatchUp:
    """The sessions of one space that pages show. `sessions` is None if the space has none."""

    def __init__(self, sessions: Callable[[], ProgramSessions | None]) -> None:
        self._sessions = sessions
        self._seen: dict[AgentId, int] = {}
        self._tasks: dict[AgentId, asyncio.Task[None]] = {}

    async def look(self, state: State) -> None:
        """Starts to record what is new in the session of an agent, if it has changed.

        Not while a turn of the agent is open: its events are recorded as they happen.
        """
        sessions, agent, held = self._sessions(), state.agent, state.session
        if sessions is None or held is None or state.open is not None or agent in self._tasks:
            return
        changed = await asyncio.to_thread(_changed, held.session)
        if changed is not None and changed != self._seen.get(agent):
            self._tasks[agent] = asyncio.create_task(self._record(sessions, agent, changed))

    async def close(self) -> None:
        """Waits until what was started is recorded."""
        await asyncio.gather(*self._tasks.values())

    async def _record(self, sessions: ProgramSessions, agent: AgentId, changed: int) -> None:
        try:
            await sessions.prepare(agent, changes=False)
        except SapwoodError as error:
            _log.warning("Could not read the session of %s: %s", agent, error)
        except Exception:
            _log.exception("Could not read the session of %s.", agent)
        finally:
            self._seen[agent] = changed
            del self._tasks[agent]


def _changed(session: ProgramSession) -> int | None:
    """When a session was changed last; None if it is not there."""
    try:
        return program(session.program).sessions.updated(Path(session.path))
    except OSError:
        return None
