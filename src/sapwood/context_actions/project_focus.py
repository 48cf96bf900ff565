"""The focus stack of a project, kept in the log as events of an agent that stands for the project.

A topic belongs to the project in which it was declared, and outlives its sessions. The `focus.json`
of an earlier version is read while the log has no stack for the project; the first change copies it
into the log.
"""

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

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
from sapwood.config.database_address import is_postgres
from sapwood.config.folders import archives_folder, focus_file, focus_stamp_file
from sapwood.context_actions.archive_files import read_archives
from sapwood.context_actions.session_finder import Connect
from sapwood.context_actions.session_input import OpenSpace
from sapwood.core.commands import Command, StartAgent, Unfocus
from sapwood.core.commands import Focus as FocusOn
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.ids import AgentId, Origin
from sapwood.core.refusals import AgentExists, Refusal
from sapwood.core.state import State
from sapwood.journal import add_to_journal
from sapwood.runtime.clock_and_ids import command_meta
from sapwood.sources.source_programs import imported_agent_id

__all__ = ["PROJECT", "ProjectFocus", "project_agent"]

PROJECT = "project"
"""The source of the agents that stand for projects. They hold declarations and no conversation."""

_PATIENCE = 5.0


def project_agent(project: str) -> AgentId:
    """The id of the agent whose log holds the focus of a project."""
    return imported_agent_id(PROJECT, project)


class ProjectFocus:
    """Reads and changes the focus stacks of projects. `connect` opens the database."""

    def __init__(self, config: Config, connect: Connect) -> None:
        self._config = config
        self._connect = connect

    async def read(self, project: str) -> Focus:
        """The stack of a project.

        Creates no database. If the database does not answer, the stack is that of the old file.
        """
        if not _exists(self._config.address):
            return _from_file(project)
        try:
            async with self._connected() as space:
                return await _stack(space, project)
        except LogError:
            return _from_file(project)

    async def add(self, topic: str, priority: int, project: str) -> Focus:
        """Puts a topic into the stack. Raises `RefusedError` when it is full."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        stack = await self._change(
            project, lambda old: focused(old, topic, project=project, at=at, priority=priority)
        )
        add_to_journal("focused", f"Focused on: {topic}", folder=project)
        return stack

    async def remove(self, topic: str, project: str) -> Focus:
        """Moves a topic to the background. Raises `SapwoodError` when it is not in focus."""
        stack = await self._change(project, lambda old: unfocused(old, topic, project=project))
        add_to_journal("unfocused", f"Sent to the background: {topic}", folder=project)
        return stack

    async def _change(self, project: str, change: Callable[[Focus], Focus]) -> Focus:
        """The stack after a change, decided on the stack that the log then holds."""
        change(await self.read(project))  # raises before a database is created
        prepare_folder(self._config)
        async with self._connected() as space:
            agent = project_agent(project)
            after = change(await _stack(space, project))
            state = (await space.dispatcher.open(agent)).state
            if state.status == "none":
                origin = Origin(PROJECT, project)
                await _dispatch(space, StartAgent(agent, f"focus of {project}", origin=origin))
            for command in _commands(agent, state, after):
                await _dispatch(space, command)
            changed = await _stack(space, project)
        with suppress(OSError):
            focus_stamp_file().touch(mode=0o600)
        return changed

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[OpenSpace]:
        config = self._config
        space = await self._connect(config.address, config.space, patience=_PATIENCE)
        try:
            yield space
        finally:
            await space.close()


def _exists(address: str) -> bool:
    return is_postgres(address) or Path(address).expanduser().is_file()


async def _dispatch(space: OpenSpace, command: Command) -> None:
    answer = await space.dispatcher.dispatch(command, command_meta())
    if isinstance(answer, Refusal) and not isinstance(answer, AgentExists):
        raise RefusedError(answer)


async def _stack(space: OpenSpace, project: str) -> Focus:
    state = (await space.dispatcher.open(project_agent(project))).state
    if state.status == "none":
        return _from_file(project)
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
