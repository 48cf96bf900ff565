"""`sapwood context spawn`: starts an agent with a handoff of a session; its answer is mailed back.

A mark is set in the session's agent before, so that what follows can be left behind. The new agent
is a child of the session's agent that sees nothing but the handoff.
"""

import asyncio
import re

from msgspec import Struct

from sapwood.context_actions.actions import ContextActions
from sapwood.context_actions.context_answers import WrittenHandoff
from sapwood.context_actions.context_request import ContextRequest
from sapwood.context_actions.session_finder import SessionFinder
from sapwood.context_actions.session_fork import SessionForker
from sapwood.conversation.call import OpenSpace
from sapwood.core.commands import Command, Configure, Fork, SetMark, StartTurn
from sapwood.core.content import Note, Text
from sapwood.core.errors import SapwoodError, accepted
from sapwood.core.ids import AgentId
from sapwood.core.settings import SettingsChange, Workspace
from sapwood.turns.clock_and_ids import command_meta, new_agent_id

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_TOLD = (
    "The handoff below is yours. When you have finished, your final answer is reported by mail to "
    "the agent that wrote it: put the result into it."
)


class Spawned(Struct, frozen=True, omit_defaults=True):
    """An agent that was started with a handoff. `mark` was set in `agent` before."""

    agent: AgentId
    child: AgentId
    mark: str
    package: str
    message: str
    worktree: str = ""
    branch: str = ""


class Spawner:
    """Starts agents from sessions."""

    def __init__(self, space: OpenSpace, sessions: SessionFinder, actions: ContextActions) -> None:
        self._space = space
        self._sessions = sessions
        self._actions = actions

    async def spawn(
        self,
        target: str,
        *,
        task: str = "",
        model: str = "",
        session: str = "",
        branch: str | None = None,
    ) -> Spawned:
        """Starts an agent named `target` with a handoff of the session.

        `model` is the model or program that runs it, by default that of the session. With a
        `branch`, it works in a git worktree; an empty name is made from its id. Raises `NoSession`,
        `RefusedError` and `SapwoodError`.
        """
        found = await self._sessions.find(session)
        forker = SessionForker(self._space, self._sessions)
        agent = found if isinstance(found, str) else await forker.agent_at(found)
        request = ContextRequest("handoff", target_agent=target, task=task, session=session)
        package = await self._actions.do(request)
        if not isinstance(package, WrittenHandoff):
            raise SapwoodError("No handoff could be written for this session.")
        child = new_agent_id()
        workspace = await self._workspace(agent, child, branch)
        mark = f"spawn-{_NOT_A_NAME.sub('-', target).strip('-.')[:40] or 'agent'}"
        await self._do(SetMark(agent, mark))
        await self._do(Fork(agent, child, mark, name=target, workspace=workspace))
        if model:
            await self._do(Configure(child, SettingsChange(model=model)))
        told = Note("parent", _TOLD, source=agent)
        await self._do(StartTurn(child, (told, Text(package.text))))
        place = f" It works in {workspace.worktree}." if workspace else ""
        return Spawned(
            agent,
            child,
            mark,
            package.path,
            f"Started {target} ({child}) with {package.path or 'the handoff'}.{place} It will mail "
            f"its answer to {agent}; to read it, type: sapwood do {agent} /check-mail. The mark "
            f"{mark} was set first; sapwood context prune then shows what can be dropped.",
            workspace.worktree if workspace else "",
            workspace.branch if workspace else "",
        )

    async def _workspace(
        self, agent: AgentId, child: AgentId, branch: str | None
    ) -> Workspace | None:
        if branch is None:
            return None
        from sapwood.workspace.worktrees import add_worktree

        state = (await self._space.dispatcher.open(agent)).state
        added = accepted(
            await asyncio.to_thread(add_worktree, state.workspace, branch or f"sapwood/{child}")
        )
        return added.workspace

    async def _do(self, command: Command) -> None:
        accepted(await self._space.dispatcher.dispatch(command, command_meta()))
