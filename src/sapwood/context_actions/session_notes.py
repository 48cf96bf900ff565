"""What was said about a session: its focus, notes of people and agents, the words of a judge.

All are in the log of the session's agent.

A session of another program is imported first if the log does not have it yet. A model may write
only to the agent of its own session: the caller finds the session and never takes it from a model.
"""

import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct

from sapwood.analysis.focus import FocusStack, focused, unfocused
from sapwood.analysis.session import Session
from sapwood.config.config_file import Config, prepare_folder
from sapwood.config.folders import focus_stamp_file
from sapwood.context_actions.session_finder import Connect, database_exists, open_space
from sapwood.context_actions.session_input import focus_of
from sapwood.conversation.call import OpenSpace
from sapwood.core import events
from sapwood.core.commands import Command, DeclareNote, RecordJudgement, Unfocus
from sapwood.core.commands import Focus as FocusOn
from sapwood.core.content import Usage
from sapwood.core.errors import LogError, SapwoodError, accepted
from sapwood.core.ids import AgentId
from sapwood.core.state import DeclaredNote, Judgement, State
from sapwood.imports.importer import Importer
from sapwood.programs.transcripts.transcript_events import imported_agent_id
from sapwood.turns.clock_and_ids import command_meta


class Statements(Struct, frozen=True):
    """The active notes, what a judge said, and the focus."""

    notes: tuple[DeclaredNote, ...] = ()
    judged: Judgement = Judgement()
    focus: FocusStack = FocusStack()


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
                return Statements(state.declared, state.judged, focus_of(state))
        except LogError:
            return Statements()

    async def declare(
        self, session: Session, note: events.NoteKind, text: str, replaces: int, *, by_model: bool
    ) -> tuple[DeclaredNote, ...]:
        """Stores a note and returns those in force. Raises `RefusedError`."""
        agent = agent_of_session(session)
        async with self._imported(session) as space:
            meta = command_meta(events.Actor("model") if by_model else events.HUMAN)
            command = DeclareNote(agent, note, " ".join(text.split()), replaces)
            accepted(await space.dispatcher.dispatch(command, meta))
            declared = (await space.dispatcher.open(agent)).state.declared
        _mark_change()
        return declared

    async def put_into_focus(
        self, session: Session, topic: str, priority: int, *, by_model: bool
    ) -> FocusStack:
        """Puts a topic into focus; that of a model comes after those of the user.

        Raises `RefusedError` when the stack is full.
        """
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

        def change(old: FocusStack, users: Collection[str]) -> FocusStack:
            first = sum(name in users for name in old.names) + 1 if by_model else 1
            return focused(old, topic, at=at, priority=max(priority, first))

        return await self._change_focus(session, change, by_model=by_model)

    async def take_out_of_focus(
        self, session: Session, topic: str, *, by_model: bool
    ) -> FocusStack:
        """Moves a topic to the background.

        Raises `SapwoodError` when it is not in focus, or when only a person can move it.
        """

        def change(old: FocusStack, users: Collection[str]) -> FocusStack:
            wanted = " ".join(topic.split()).casefold()
            if by_model and any(name.casefold() == wanted for name in users):
                raise SapwoodError(
                    f"The user put '{topic}' into focus, so only the user can take it out: "
                    f"sapwood context unfocus '{topic}'"
                )
            return unfocused(old, topic)

        return await self._change_focus(session, change, by_model=by_model)

    async def _change_focus(
        self,
        session: Session,
        change: Callable[[FocusStack, Collection[str]], FocusStack],
        *,
        by_model: bool,
    ) -> FocusStack:
        """The focus after a change, decided on the stack that the log then holds."""
        agent = agent_of_session(session)
        async with self._imported(session) as space:
            state = (await space.dispatcher.open(agent)).state
            users = await _topics_of_users(space, agent) if by_model else ()
            after = change(focus_of(state), users)
            for command in _focus_commands(agent, state, after):
                meta = command_meta(events.Actor("model") if by_model else events.HUMAN)
                accepted(await space.dispatcher.dispatch(command, meta))
            changed = focus_of((await space.dispatcher.open(agent)).state)
        _mark_change()
        return changed

    async def record(
        self,
        session: Session,
        judge: str,
        stretches: tuple[events.JudgedStretch, ...],
        sentences: tuple[events.JudgedSentence, ...],
        usage: Usage,
    ) -> None:
        """Stores what a judge said. Raises `RefusedError`."""
        command = RecordJudgement(agent_of_session(session), judge, stretches, sentences, usage)
        async with self._imported(session) as space:
            accepted(await space.dispatcher.dispatch(command, command_meta(events.SYSTEM)))
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


async def _topics_of_users(space: OpenSpace, agent: AgentId) -> frozenset[str]:
    """The topics in focus that a person put there."""
    actors: dict[str, events.Actor] = {}
    for recorded in await space.log.read(space.space, agent):
        match recorded.event:
            case events.Focused(topic=topic):
                actors.setdefault(topic, recorded.actor)
            case events.Unfocused(topic=topic):
                actors.pop(topic, None)
            case _:
                pass
    return frozenset(topic for topic, actor in actors.items() if actor.role != "model")


def _focus_commands(agent: AgentId, state: State, after: FocusStack) -> Iterator[Command]:
    """The commands after which the log holds this stack; names are spelt as the log has them."""
    places = {each.topic: each.priority for each in state.focus}
    spelt = {name.casefold(): name for name in (*state.background, *places)}
    wanted = [spelt.get(name.casefold(), name) for name in after.names]
    for place, name in enumerate(wanted, 1):
        if places.get(name) != place:
            yield FocusOn(agent, name, place)
    for name in places:
        if name not in wanted:
            yield Unfocus(agent, name)


def _mark_change() -> None:
    """What hooks prepared before is old from now on."""
    with suppress(OSError):
        focus_stamp_file().touch(mode=0o600)


def agent_of_session(session: Session) -> AgentId:
    """The agent of a session: its own, or the one that it is imported as."""
    if session.source == "sapwood":
        return AgentId(session.id)
    return imported_agent_id(session.source, session.id)
