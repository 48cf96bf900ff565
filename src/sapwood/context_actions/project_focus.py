"""The focus stack of a project, kept in the log as events of an agent that stands for the project.

A topic that a person declares belongs to the project and outlives its sessions. A topic that a
model declares belongs to the session of the model, so that no other session is told about it; an
agent of its own stands for that session.

The `focus.json` of an earlier version is read while the log has no stack for the project; the first
change copies it into the log.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from msgspec import Struct, structs

from sapwood.analysis.focus import (
    BackgroundTopic,
    Focus,
    FocusedTopic,
    focused,
    of_project,
    read_focus,
    unfocused,
)
from sapwood.config.config_file import Config, prepare_folder
from sapwood.config.folders import archives_folder, focus_file, focus_stamp_file
from sapwood.context_actions.archive_files import read_archives
from sapwood.context_actions.session_finder import Connect, database_exists, open_space
from sapwood.context_actions.session_input import OpenSpace
from sapwood.core.commands import Command, StartAgent, Unfocus
from sapwood.core.commands import Focus as FocusOn
from sapwood.core.errors import LogError, RefusedError, SapwoodError
from sapwood.core.ids import AgentId, Origin
from sapwood.core.refusals import AgentExists, Refusal
from sapwood.core.state import State
from sapwood.journal import add_to_journal
from sapwood.runtime.clock_and_ids import command_meta
from sapwood.sources.source_programs import imported_agent_id

PROJECT = "project"
"""The source of the agents that stand for projects. They hold declarations and no conversation."""

SESSION = "session"
"""The source of the agents that stand for sessions in which a model declared topics."""


def project_agent(project: str) -> AgentId:
    """The id of the agent whose log holds the focus of a project."""
    return imported_agent_id(PROJECT, project)


class _Stack(Struct, frozen=True):
    """One stack: that of a project, or with a `session` that of a session in the project."""

    project: str
    session: str = ""

    @property
    def origin(self) -> Origin:
        return Origin(SESSION, self.session) if self.session else Origin(PROJECT, self.project)

    @property
    def agent(self) -> AgentId:
        return imported_agent_id(self.origin.source, self.origin.session)

    @property
    def name(self) -> str:
        return f"focus of session {self.session}" if self.session else f"focus of {self.project}"


class ProjectFocus:
    """Reads and changes the focus stacks of projects and sessions. `connect` opens the database."""

    def __init__(self, config: Config, connect: Connect) -> None:
        self._config = config
        self._connect = connect

    async def read(self, project: str, session: str = "") -> Focus:
        """The stack of a project; with `session`, also the topics that this session declared.

        Creates no database. If the database does not answer, the stack is that of the old file.
        """
        if not database_exists(self._config):
            return _from_file(project)
        try:
            async with open_space(self._config, self._connect) as space:
                return await _merged(space, project, session)
        except LogError:
            return _from_file(project)

    async def add(self, topic: str, priority: int, project: str, session: str = "") -> Focus:
        """Puts a topic into the stack of the project, or of the session if one is given.

        Raises `RefusedError` when the stack is full.
        """
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        focus = await self._change(
            _Stack(project, session),
            lambda old: focused(old, topic, project=project, at=at, priority=priority),
        )
        add_to_journal("focused", f"Focused on: {topic}", folder=project, session=session)
        return focus

    async def remove(self, topic: str, project: str, session: str = "") -> Focus:
        """Moves a topic of the project, or of the session if one is given, to the background.

        Raises `SapwoodError` when it is not in focus, or when only a person can move it.
        """
        if session and _has(Focus((await self.read(project)).topics), topic):
            raise SapwoodError(
                f"The user put '{topic}' in focus, so only the user can remove it: sapwood context "
                f"unfocus '{topic}'"
            )
        focus = await self._change(
            _Stack(project, session), lambda old: unfocused(old, topic, project=project)
        )
        add_to_journal(
            "unfocused", f"Sent to the background: {topic}", folder=project, session=session
        )
        return focus

    async def _change(self, stack: _Stack, change: Callable[[Focus], Focus]) -> Focus:
        """The focus after a change, decided on the stack that the log then holds."""
        if not database_exists(self._config):
            change(_from_file(stack.project))  # raises before a database is created
        prepare_folder(self._config)
        async with open_space(self._config, self._connect) as space:
            after = change(await _read(space, stack))
            state = (await space.dispatcher.open(stack.agent)).state
            if state.status == "none":
                await _dispatch(space, StartAgent(stack.agent, stack.name, origin=stack.origin))
            for command in _commands(stack.agent, state, after):
                await _dispatch(space, command)
            changed = await _merged(space, stack.project, stack.session)
        with suppress(OSError):
            focus_stamp_file().touch(mode=0o600)
        return changed


async def _dispatch(space: OpenSpace, command: Command) -> None:
    answer = await space.dispatcher.dispatch(command, command_meta())
    if isinstance(answer, Refusal) and not isinstance(answer, AgentExists):
        raise RefusedError(answer)


async def _read(space: OpenSpace, stack: _Stack) -> Focus:
    state = (await space.dispatcher.open(stack.agent)).state
    project = stack.project
    if state.status == "none":
        return Focus() if stack.session else _from_file(project)
    archived = _archived(project) if state.background else frozenset[str]()
    return Focus(
        tuple(
            FocusedTopic(each.topic, _moment(each.since), place, project)
            for place, each in enumerate(state.focus, 1)
        ),
        tuple(
            BackgroundTopic(name, name.casefold() in archived, project) for name in state.background
        ),
    )


async def _merged(space: OpenSpace, project: str, session: str) -> Focus:
    """The topics of the project, then those of the session that the project does not have."""
    focus = await _read(space, _Stack(project))
    if not session:
        return focus
    own = await _read(space, _Stack(project, session))
    topics = [each for each in own.topics if not _has(focus, each.name)]
    background = [each for each in own.background if not _has(focus, each.name)]
    last = len(focus.topics)
    return Focus(
        (*focus.topics, *(structs.replace(t, priority=last + i) for i, t in enumerate(topics, 1))),
        (*focus.background, *background),
    )


def _has(focus: Focus, topic: str) -> bool:
    names = {each.name.casefold() for each in (*focus.topics, *focus.background)}
    return " ".join(topic.split()).casefold() in names


def _from_file(project: str) -> Focus:
    """What an earlier version kept in a file."""
    return of_project(read_focus(focus_file()), project)


def _archived(project: str) -> frozenset[str]:
    """The topics of a project that have an archive."""
    archives = [archive for _, archive in read_archives(archives_folder())]
    return frozenset(each.topic.casefold() for each in archives if each.project == project)


def _moment(microseconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(microseconds // 1_000_000))


def _commands(agent: AgentId, state: State, after: Focus) -> Iterator[Command]:
    """The commands after which the log holds this stack; names are spelt as the log has them."""
    places = {each.topic: each.priority for each in state.focus}
    spelt = {name.casefold(): name for name in (*state.background, *places)}
    wanted = [spelt.get(each.name.casefold(), each.name) for each in after.topics]
    for place, name in enumerate(wanted, 1):
        if places.get(name) != place:
            yield FocusOn(agent, name, place)
    for name in places:
        if name not in wanted:
            yield Unfocus(agent, name)
    for each in after.background:
        if each.name.casefold() not in spelt:
            yield Unfocus(agent, each.name)
