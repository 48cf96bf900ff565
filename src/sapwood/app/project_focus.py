"""The focus stack of a project, in the log: events of an agent that stands for the project.

A topic belongs to the project in which it was declared, and outlives its sessions. A `focus.json`
of an earlier version is read as long as the log has nothing of the project, and taken over with the
first change.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sapwood.app.config import Config
from sapwood.app.connection import Connection, connect
from sapwood.app.folders import archives_folder, focus_file, focus_stamp_file
from sapwood.app.journaling import note
from sapwood.app.opening import is_postgres, prepare_folder
from sapwood.core.commands import Command, StartAgent, Unfocus
from sapwood.core.commands import Focus as FocusOn
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.ids import AgentId
from sapwood.core.origin import Origin
from sapwood.core.refusals import AgentExists, Refusal
from sapwood.core.state import State
from sapwood.garden.focus import (
    BackgroundTopic,
    Focus,
    FocusedTopic,
    focused,
    of_project,
    read_focus,
    unfocused,
)
from sapwood.runtime.fresh import given
from sapwood.sources.naming import agent_of

__all__ = ["PROJECT", "focus_on", "project_agent", "read_stack", "stack_now", "unfocus"]

PROJECT = "project"
"""The source of the agents that stand for projects. They hold declarations and no conversation."""

_PATIENCE = 5.0


def project_agent(project: str) -> AgentId:
    """The id of the agent whose log holds the focus of a project."""
    return agent_of(PROJECT, project)


async def read_stack(config: Config, project: str) -> Focus:
    """The stack of a project.

    A database that is not there is not made, and one that does not answer has no stack.
    """
    if not _is_there(config.address):
        return _from_file(project)
    try:
        async with _connected(config) as held:
            return await _stack(held, project)
    except LogError:
        return _from_file(project)


def stack_now(config: Config, project: str) -> Focus:
    """The stack of a project, for a caller that runs no event loop."""
    return asyncio.run(read_stack(config, project))


async def focus_on(config: Config, topic: str, priority: int, project: str) -> Focus:
    """Puts a topic into the stack. Raises `RefusedError` when it is full."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    stack = await _changed(
        config, project, lambda old: focused(old, topic, project=project, at=at, priority=priority)
    )
    note("focused", f"Focused on: {topic}", folder=project)
    return stack


async def unfocus(config: Config, topic: str, project: str) -> Focus:
    """Sends a topic to the background. Raises `SapwoodError` when it is not in focus."""
    stack = await _changed(config, project, lambda old: unfocused(old, topic, project=project))
    note("unfocused", f"Sent to the background: {topic}", folder=project)
    return stack


def _is_there(address: str) -> bool:
    return is_postgres(address) or Path(address).expanduser().is_file()


async def _changed(config: Config, project: str, change: Callable[[Focus], Focus]) -> Focus:
    """The stack after a change, which is decided on the stack that the log holds then."""
    change(await read_stack(config, project))  # raises before a database is made
    prepare_folder(config)
    async with _connected(config) as held:
        agent = project_agent(project)
        after = change(await _stack(held, project))
        state = (await held.dispatcher.open(agent)).state
        if state.status == "none":
            await _do(held, StartAgent(agent, f"focus of {project}", origin=_origin(project)))
        for command in _commands(agent, state, after):
            await _do(held, command)
        changed = await _stack(held, project)
    with suppress(OSError):
        focus_stamp_file().touch(mode=0o600)
    return changed


@asynccontextmanager
async def _connected(config: Config) -> AsyncGenerator[Connection]:
    held = await connect(config.address, config.space, patience=_PATIENCE)
    try:
        yield held
    finally:
        await held.close()


async def _do(held: Connection, command: Command) -> None:
    answer = await held.dispatcher.dispatch(command, given())
    if isinstance(answer, Refusal) and not isinstance(answer, AgentExists):
        raise RefusedError(answer)


def _origin(project: str) -> Origin:
    return Origin(PROJECT, project)


async def _stack(held: Connection, project: str) -> Focus:
    state = (await held.dispatcher.open(project_agent(project))).state
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
    from sapwood.garden.archiving import read_archives

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
