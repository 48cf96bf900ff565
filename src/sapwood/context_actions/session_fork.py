"""Forks a session of another program into an agent of the log, which continues it here."""

from collections.abc import Mapping
from pathlib import Path

from sapwood.config.config_file import Config
from sapwood.context_actions.session_finder import Connect, SessionFinder
from sapwood.conversation.call import OpenSpace
from sapwood.conversation.configured_models import require_model, switch_model
from sapwood.core.commands import Command, Configure, Fork, StartTurn
from sapwood.core.content import Text
from sapwood.core.errors import RefusedError, SapwoodError, accepted
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import Refusal
from sapwood.core.settings import SettingsChange, Workspace
from sapwood.imports.importer import Importer
from sapwood.journal import add_to_journal
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.turns.clock_and_ids import command_meta, new_agent_id


class SessionForker:
    """Forks sessions; imports those of other programs first."""

    def __init__(self, space: OpenSpace, sessions: SessionFinder) -> None:
        self._space = space
        self._sessions = sessions

    async def agent_of(self, name: str) -> AgentId:
        """The agent of a session, by the session's id or its transcript; imports it if needed.

        Raises `NoSession`, or `SapwoodError` if it cannot be imported.
        """
        target = await self._sessions.find(name)
        return target if isinstance(target, str) else await self.agent_at(target)

    async def agent_at(self, target: FoundSession | Path) -> AgentId:
        """The agent of a transcript; imports what is new in it.

        Raises `SapwoodError` if it cannot be imported.
        """
        importer = Importer(self._space, dispatcher=self._space.dispatcher)
        try:
            if isinstance(target, FoundSession):
                imported = await importer.bring(target.path, target.source or None)
            else:
                imported = await importer.bring(target)
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
        workspace: Workspace | None = None,
        continues: bool = False,
    ) -> AgentId:
        """Forks the session into a child and returns its id; with a goal, the child starts to work.

        `change` (such as another model) is applied before the goal is sent. `workspace` is where
        the child works, by default where the session did. `continues`: it is no helper of the
        session's agent.
        """
        child = new_agent_id()
        first = "" if change else goal
        await self._do(
            Fork(
                session,
                child,
                mark,
                first,
                name=name,
                workspace=workspace,
                continues=continues,
            )
        )
        if change is not None:
            await self._do(Configure(child, change))
            if goal.strip():
                await self._do(StartTurn(child, (Text(goal),)))
        state = (await self._space.dispatcher.open(session)).state
        origin = state.origin
        add_to_journal(
            "forked",
            f"Forked into agent {child}" + (f", to: {goal}" if goal.strip() else ""),
            source=origin.source if origin else "sapwood",
            session=origin.session if origin else session,
            folder=state.workspace.folder,
        )
        return child

    async def _do(self, command: Command) -> None:
        accepted(await self._space.dispatcher.dispatch(command, command_meta()))


async def take_over(
    space: OpenSpace, connect: Connect, config: Config, keys: Mapping[str, str], fork: Fork
) -> AgentId:
    """Forks an imported conversation for a model that can be called here, and returns the child.

    Does not change the imported agent. Raises `Failure` if no model can be called.
    """
    state = (await space.dispatcher.open(fork.agent)).state
    forker = SessionForker(space, SessionFinder(Path(state.workspace.folder), config, connect))
    return await forker.fork(
        fork.agent,
        mark=fork.mark,
        goal=fork.goal,
        name=fork.name or state.name,
        change=fork.change
        or await _other_model(space, config, keys, fork.agent, state.settings.model),
        workspace=fork.workspace,
    )


async def _other_model(
    space: OpenSpace, config: Config, keys: Mapping[str, str], agent: AgentId, model: str
) -> SettingsChange | None:
    """Returns the change to the configured model, or None if `model` can be called here."""
    try:
        require_model(model, config, keys)
    except Failure:
        change = await switch_model(space, config, keys, config.model, agent)
        if isinstance(change, Refusal):
            raise RefusedError(change) from None
        return change
    return None
