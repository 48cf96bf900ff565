"""What was said about a session: notes of people and agents, and the words of a judge.

Both are in the log of the session's agent.

A session of another program is imported first if the log does not have it yet. A model may write
only to the agent of its own session: the caller finds the session and never takes it from a model.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct

from sapwood.analysis.session import Session
from sapwood.config.config_file import Config, prepare_folder
from sapwood.config.folders import focus_stamp_file
from sapwood.context_actions.session_finder import Connect, database_exists, open_space
from sapwood.context_actions.session_input import OpenSpace
from sapwood.core.commands import DeclareNote, RecordJudgement
from sapwood.core.content import Usage
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import (
    HUMAN,
    SYSTEM,
    Actor,
    JudgedSentence,
    JudgedStretch,
    NoteKind,
)
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.state import DeclaredNote, Judgement
from sapwood.imports.importer import Importer
from sapwood.runtime.clock_and_ids import command_meta
from sapwood.sources.source_programs import imported_agent_id


class Statements(Struct, frozen=True):
    """The active notes, and what a judge said."""

    notes: tuple[DeclaredNote, ...] = ()
    judged: Judgement = Judgement()


class SessionNotes:
    """Reads and stores what is said about sessions. `connect` opens the database."""

    def __init__(self, config: Config, connect: Connect) -> None:
        self._config = config
        self._connect = connect

    async def read(self, session: Session) -> Statements:
        """What is in force. Creates no database; nothing if the database does not answer."""
        if not database_exists(self._config):
            return Statements()
        try:
            async with open_space(self._config, self._connect) as space:
                state = (await space.dispatcher.open(agent_of_session(session))).state
                return Statements(state.declared, state.judged)
        except LogError:
            return Statements()

    async def declare(
        self, session: Session, note: NoteKind, text: str, replaces: int, *, by_model: bool
    ) -> tuple[DeclaredNote, ...]:
        """Stores a note and returns those in force. Raises `RefusedError`."""
        agent = agent_of_session(session)
        async with self._imported(session) as space:
            meta = command_meta(Actor("model") if by_model else HUMAN)
            command = DeclareNote(agent, note, " ".join(text.split()), replaces)
            answer = await space.dispatcher.dispatch(command, meta)
            if isinstance(answer, Refusal):
                raise RefusedError(answer)
            declared = (await space.dispatcher.open(agent)).state.declared
        _mark_change()
        return declared

    async def record(
        self,
        session: Session,
        judge: str,
        stretches: tuple[JudgedStretch, ...],
        sentences: tuple[JudgedSentence, ...],
        usage: Usage,
    ) -> None:
        """Stores what a judge said. Raises `RefusedError`."""
        command = RecordJudgement(agent_of_session(session), judge, stretches, sentences, usage)
        async with self._imported(session) as space:
            answer = await space.dispatcher.dispatch(command, command_meta(SYSTEM))
            if isinstance(answer, Refusal):
                raise RefusedError(answer)
        _mark_change()

    @asynccontextmanager
    async def _imported(self, session: Session) -> AsyncGenerator[OpenSpace]:
        """The open database; a session that is not in the log yet is imported first."""
        prepare_folder(self._config)
        async with open_space(self._config, self._connect) as space:
            agent = agent_of_session(session)
            if (await space.dispatcher.open(agent)).state.status == "none" and session.path:
                importer = Importer(space)
                await importer.bring(Path(session.path), session.source)
                await importer.close()
            yield space


def _mark_change() -> None:
    """What hooks prepared before is old from now on."""
    with suppress(OSError):
        focus_stamp_file().touch(mode=0o600)


def agent_of_session(session: Session) -> AgentId:
    """The agent of a session: its own, or the one that it is imported as."""
    if session.source == "sapwood":
        return AgentId(session.id)
    return imported_agent_id(session.source, session.id)
