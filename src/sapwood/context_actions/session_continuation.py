"""Continues a session of any program in another one: as a fork, in the other program's own form."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sapwood.config.config_file import Config
from sapwood.context_actions.session_finder import Connect, SessionFinder
from sapwood.context_actions.session_fork import SessionForker
from sapwood.conversation.agent_lookup import find
from sapwood.conversation.call import OpenSpace
from sapwood.conversation.configured_models import switch_model
from sapwood.conversation.session_changes import sync_session
from sapwood.core.errors import RefusedError, accepted
from sapwood.core.events import SessionSynced
from sapwood.core.ids import AgentId
from sapwood.core.program_session import ProgramSession
from sapwood.programs.agent_provider import AgentProvider
from sapwood.programs.installed_programs import make_provider
from sapwood.programs.registry import program_executor, resume_command_for


class Continuation(Struct, frozen=True):
    """A session that continues elsewhere: the agent that was forked, and the new session.

    `session` is None if a model answers from here on. `loss` says what could not be carried.
    """

    source: AgentId
    agent: AgentId
    model: str
    session: ProgramSession | None = None
    loss: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """What to tell a person, with what to type next."""
        lines = [f"Continued as {self.agent} with {self.model}. {self.source} does not change."]
        if self.loss:
            lines.append(self.loss)
        lines.append(f"To continue here, type: sapwood open {self.agent}")
        if self.session is not None:
            own = resume_command_for(self.session.program, self.session.id)
            lines += [f"To continue in the program itself, type: {own}"] if own else []
        return tuple(lines)


async def continue_session(
    space: OpenSpace,
    connect: Connect,
    config: Config,
    keys: Mapping[str, str],
    typed: str,
    model: str,
    *,
    name: str = "",
) -> Continuation:
    """Forks a session with another executor, and writes it in that program's own form at once.

    `typed` is an agent, the id of a session, or a transcript; a session is imported first. Raises
    `Failure` if the executor cannot be used, `RefusedError`, and `NoSession`.
    """
    folder = Path(os.getcwd())
    forker = SessionForker(space, SessionFinder(folder, config, connect))
    source: AgentId | None = None
    with suppress(RefusedError):
        source = await find(space, typed)
    source = source or await forker.agent_of(typed)
    change = accepted(await switch_model(space, config, keys, model, source))
    child = await forker.fork(source, name=name, change=change, continues=True)
    if program_executor(model) is None:
        return Continuation(source, child, model)
    session = await _synced(space, child)
    return Continuation(source, child, model, session, await _loss(space, child))


async def _synced(space: OpenSpace, agent: AgentId) -> ProgramSession | None:
    """The new session with the history of the agent."""
    made: list[AgentProvider] = []

    def provider_of(program: str) -> AgentProvider:
        made.append(make_provider(program))
        return made[-1]

    try:
        return await sync_session(space, provider_of, agent)
    finally:
        for provider in made:
            await provider.close()


async def _loss(space: OpenSpace, agent: AgentId) -> str:
    recorded = await space.log.read(space.space, agent)
    found = [each.event.loss for each in recorded if isinstance(each.event, SessionSynced)]
    return found[-1] if found else ""
