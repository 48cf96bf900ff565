"""The notes of a session: declared by people and agents, kept in the log of the session's agent.

A session of another program is imported first if the log does not have it yet. A model may write
only to the agent of its own session: the caller finds the session and never takes it from a model.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sapwood.analysis.session import Session
from sapwood.config.config_file import Config, prepare_folder
from sapwood.config.database_address import is_postgres
from sapwood.config.folders import focus_stamp_file
from sapwood.context_actions.session_finder import Connect
from sapwood.context_actions.session_input import OpenSpace
from sapwood.core.commands import DeclareNote
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import HUMAN, Actor, NoteKind
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.state import DeclaredNote
from sapwood.imports.importer import Importer
from sapwood.runtime.clock_and_ids import command_meta
from sapwood.sources.source_programs import imported_agent_id

__all__ = ["SessionNotes"]

_PATIENCE = 5.0


class SessionNotes:
    """Reads and declares the notes of sessions. `connect` opens the database."""

    def __init__(self, config: Config, connect: Connect) -> None:
        self._config = config
        self._connect = connect

    async def read(self, session: Session) -> tuple[DeclaredNote, ...]:
        """The notes in force. Creates no database; none if the database does not answer."""
        if not _exists(self._config.address):
            return ()
        try:
            async with self._connected() as space:
                return (await space.dispatcher.open(_agent(session))).state.declared
        except LogError:
            return ()

    async def declare(
        self, session: Session, note: NoteKind, text: str, replaces: int, *, by_model: bool
    ) -> tuple[DeclaredNote, ...]:
        """Stores a note and returns those in force. Raises `RefusedError`."""
        prepare_folder(self._config)
        agent = _agent(session)
        async with self._connected() as space:
            if (await space.dispatcher.open(agent)).state.status == "none" and session.path:
                importer = Importer(space)
                await importer.bring(Path(session.path), session.source)
                await importer.close()
            meta = command_meta(Actor("model") if by_model else HUMAN)
            command = DeclareNote(agent, note, " ".join(text.split()), replaces)
            answer = await space.dispatcher.dispatch(command, meta)
            if isinstance(answer, Refusal):
                raise RefusedError(answer)
            declared = (await space.dispatcher.open(agent)).state.declared
        with suppress(OSError):
            focus_stamp_file().touch(mode=0o600)  # what hooks prepared is old
        return declared

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[OpenSpace]:
        config = self._config
        space = await self._connect(config.address, config.space, patience=_PATIENCE)
        try:
            yield space
        finally:
            await space.close()


def _agent(session: Session) -> AgentId:
    """The agent of a session: its own, or the one that it is imported as."""
    if session.source == "sapwood":
        return AgentId(session.id)
    return imported_agent_id(session.source, session.id)


def _exists(address: str) -> bool:
    return is_postgres(address) or Path(address).expanduser().is_file()
