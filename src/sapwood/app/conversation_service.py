"""Wires the conversation service: models, checkpoints and imports as they are configured."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from sapwood.app.configured_hooks import prompt_check
from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import CheckpointConfig, Config, ContextConfig
from sapwood.config.folders import data_folder
from sapwood.conversation.call import Services, WriteSummary
from sapwood.conversation.configured_models import ConfiguredModels
from sapwood.conversation.service import ConversationService
from sapwood.core.commands import Fork
from sapwood.core.events import InstructionText
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace
from sapwood.engine.wake_requests import engine_file
from sapwood.turns.checkpoints import Checkpoints
from sapwood.workspace.permissions.kept_rules import KeptRules, RuleSources

if TYPE_CHECKING:
    from sapwood.conversation.session_changes import SessionChanges
    from sapwood.workspace.custom_commands import CustomCommand


_SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")


def conversation_service(
    connection: Connection,
    config: Config,
    keys: Mapping[str, str],
    *,
    compact: WriteSummary | None = None,
    start_work: Callable[[], None] | None = None,
    allow: Sequence[str] = (),
    picks: bool = False,
    sync_session: Callable[[AgentId], Awaitable[None]] | None = None,
    on_this_machine: bool = False,
    show_shell: Callable[[AgentId, str, bytes], None] | None = None,
    job_output: Callable[[AgentId, int], str] | None = None,
) -> ConversationService:
    """Returns the service for a face whose agents can call models.

    `compact` writes a summary with a model. `start_work` is called when an agent gets work, and
    does not wait. `allow` are the rules that were given for this run. `picks`: the face has lists
    to pick a missing argument from. `sync_session` brings the session of an agent that runs in this
    process to its live path. `on_this_machine`: the person who uses the face started this process.
    `show_shell` and `job_output` are those of `Services`. In a space with one folder, there are no
    agent programs, no sessions of them and no checkpoints: all of these run programs outside the
    sandbox.
    """

    if connection.server is not None:
        return connection.server.service(Services(connection, picks=picks))

    confined = connection.folder is not None

    async def take_over(fork: Fork) -> AgentId:
        from sapwood.context_actions.session_fork import take_over

        return await take_over(connection, connect, config, keys, fork)

    return ConversationService(
        Services(
            connection,
            ConfiguredModels(config, keys, programs=not confined),
            compact,
            None if confined else lambda: _git_checkpoints(connection, config.checkpoints),
            None if confined else take_over,
            start_work,
            _rule_sources(config, allow),
            picks,
            lambda workspace: _read_instructions(workspace, config.context, git=not confined),
            None if confined else LazySessionChanges(connection),
            None if confined else sync_session,
            connection.folder,
            config.context.bring_tokens,
            on_this_machine and not confined,
            prompt_check(config, connection.dispatcher) if config.hooks and not confined else None,
            lambda workspace: _custom_commands(workspace, home=not confined),
            show_shell,
            job_output,
        )
    )


def _read_instructions(
    workspace: Workspace, config: ContextConfig, *, git: bool
) -> tuple[InstructionText, ...] | None:
    from sapwood.workspace.custom_commands import skill_list
    from sapwood.workspace.instructions import read_instructions

    read = read_instructions(
        workspace, default_prompt=config.default_prompt, files=config.instructions, git=git
    )
    skills = skill_list(_custom_commands(workspace, home=git)) if config.instructions else ""
    return (*(read or ()), InstructionText("skills", skills)) if skills else read


def _custom_commands(workspace: Workspace, *, home: bool) -> "tuple[CustomCommand, ...]":
    from sapwood.workspace.custom_commands import custom_commands

    return custom_commands(workspace, os.environ if home else None)


def offline_service(
    connection: Connection, config: Config, *, later: bool = False
) -> ConversationService:
    """Returns the service for a face that calls no model: it writes no summaries.

    With `later`, sessions of other programs that are open follow when they were closed.
    """
    if connection.server is not None:
        return connection.server.service(Services(connection))
    return ConversationService(
        Services(
            connection,
            checkpoints=lambda: _git_checkpoints(connection, config.checkpoints),
            permissions=_rule_sources(config),
            sessions=LazySessionChanges(connection, later=later),
        )
    )


class LazySessionChanges:
    """Changes sessions of other programs. Nothing is imported before the first use."""

    def __init__(self, connection: Connection, *, later: bool = False) -> None:
        """With `later`, a session that is open follows when it was closed."""
        self._connection = connection
        self._later = later
        self._changes: SessionChanges | None = None

    @property
    def changes(self) -> "SessionChanges":
        """What changes the sessions."""
        if self._changes is None:
            from sapwood.conversation.session_changes import SessionChanges
            from sapwood.programs.installed_programs import make_provider

            self._changes = SessionChanges(self._connection, make_provider, later=self._later)
        return self._changes

    def exclusive(self, agent: AgentId) -> AbstractAsyncContextManager[None]:
        return self.changes.exclusive(agent)

    async def prepare(self, agent: AgentId, *, changes: bool = True) -> None:
        await self.changes.prepare(agent, changes=changes)

    async def sync_session(self, agent: AgentId) -> str:
        return await self.changes.sync_session(agent)


def _rule_sources(config: Config, allow: Sequence[str] = ()) -> RuleSources:
    this_run = tuple(f"allow {rule}" for rule in allow)
    return RuleSources(config.permissions, this_run, KeptRules())


def checkpoints_for(connection: Connection, config: Config) -> Checkpoints | None:
    """Returns what saves the files of a workspace, or None if saving is switched off.

    It is off in a space with one folder: git would read settings that its tenant wrote.
    """
    enabled = config.checkpoints.enabled and connection.folder is None
    return _git_checkpoints(connection, config.checkpoints) if enabled else None


def _git_checkpoints(connection: Connection, config: CheckpointConfig) -> Checkpoints:
    from sapwood.workspace.checkpoints.checkpoint_save import CheckpointLimits
    from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints

    limits = CheckpointLimits(config.largest, own=own_files(connection.address))
    return GitCheckpoints(limits, connection.space)


def own_files(address: str) -> tuple[str, ...]:
    """Returns paths that a revert must not touch: data folder, log file and engine database."""
    own = [os.path.realpath(data_folder()) + os.sep]
    if address and (engine := engine_file(address)) is not None:
        files = (os.path.realpath(os.path.expanduser(address)), engine)
        own += [f"{file}{ending}" for file in files for ending in _SQLITE_SUFFIXES]
    return tuple(own)
