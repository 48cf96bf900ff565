"""Takes a session of another program over into an own agent."""

from pathlib import Path

from sapwood.app.connection import Connection
from sapwood.app.gardening.sessions import Sessions
from sapwood.app.importing import Importer
from sapwood.app.journaling import note
from sapwood.core.commands import Command, Configure, Fork, StartTurn
from sapwood.core.content import Text
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.settings import SettingsChange
from sapwood.runtime.fresh import given, new_agent_id
from sapwood.sources import Found

__all__ = ["Adopter"]


class Adopter:
    """Forks sessions, after importing them where that is needed."""

    def __init__(self, connection: Connection, sessions: Sessions) -> None:
        self._connection = connection
        self._sessions = sessions

    async def agent_of(self, name: str) -> AgentId:
        """The agent that a session is, given by its id or by its transcript."""
        path = name if _is_file(name) else ""
        meant = await self._sessions.find(name, path)
        if isinstance(meant, str):
            return meant
        importer = Importer(self._connection)
        try:
            if isinstance(meant, Found):
                imported = await importer.bring(meant.path, meant.source or None)
            else:
                imported = await importer.bring(meant)
        finally:
            await importer.close()
        if imported.problem:
            raise SapwoodError(f"The session could not be imported: {imported.problem}")
        return imported.agent

    async def fork(
        self,
        session: AgentId,
        *,
        mark: str | None = None,
        goal: str = "",
        name: str = "",
        change: SettingsChange | None = None,
    ) -> AgentId:
        """A child that sees what the session's model saw; with a goal, it has work to do.

        Another model, or whatever else changes, is set before the goal is.
        """
        child = new_agent_id()
        await self._do(Fork(session, child, mark, "" if change else goal, name=name))
        if change is not None:
            await self._do(Configure(child, change))
            if goal.strip():
                await self._do(StartTurn(child, (Text(goal),)))
        state = (await self._connection.dispatcher.open(session)).state
        origin = state.origin
        note(
            "forked",
            f"Forked into the agent {child}" + (f", to: {goal}" if goal.strip() else ""),
            source=origin.source if origin else "sapwood",
            session=origin.session if origin else session,
            folder=state.workspace.folder,
        )
        return child

    async def _do(self, command: Command) -> None:
        answer = await self._connection.dispatcher.dispatch(command, given())
        if isinstance(answer, Refusal):
            raise RefusedError(answer)


def _is_file(name: str) -> bool:
    try:
        return Path(name).expanduser().is_file()
    except (OSError, ValueError):
        return False
