"""A conversation service with the agents that it runs in this process.

The agents are assembled at their first use and started once: a screen that only reads starts none.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.assembly import assemble
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import conversation_service
from sapwood.app.engines import LazyEngine
from sapwood.config.config_file import Config
from sapwood.core.commands import CommandMeta
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure, RetryWait
from sapwood.core.refusals import Refusal
from sapwood.turns.dispatch import Done

if TYPE_CHECKING:
    from sapwood.workspace.permissions.permission_gate import AskPermission

_log = logging.getLogger("sapwood.agents")


class RunningSpace:
    """One space with its service, and what runs its agents.

    `report` is called with a sentence if agents cannot be started in the background. `picks` and
    `on_this_machine` and `show_shell` are those of `conversation_service`, `for_workers` that of
    `engine_for`;
    `approve`, `ask_seconds` and `on_wait` are those of `assemble`.
    """

    def __init__(
        self,
        connection: Connection,
        config: Config,
        keys: Mapping[str, str],
        report: Callable[[str], None],
        *,
        picks: bool = False,
        on_this_machine: bool = False,
        for_workers: bool = False,
        approve: "AskPermission | None" = None,
        ask_seconds: float | None = None,
        show_shell: Callable[[AgentId, str, bytes], None] | None = None,
        on_wait: Callable[[RetryWait], None] | None = None,
    ) -> None:
        self.connection = connection
        self._report = report
        self._picks = picks
        self._on_this_machine = on_this_machine
        self._for_workers = for_workers
        self._approve = approve
        self._ask_seconds = ask_seconds
        self._show_shell = show_shell
        self._on_wait = on_wait
        self._assembled: AgentRunner | None = None
        self._start_once = asyncio.Lock()
        self._is_started = False
        self._starting: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._syncing: set[asyncio.Task[None]] = set()
        self.configure(config, keys)

    def configure(self, config: Config, keys: Mapping[str, str]) -> None:
        """Replaces the configuration, for example after the first run chose a model."""
        self.config = config
        self.keys = dict(keys)
        self.service = conversation_service(
            self.connection,
            config,
            keys,
            compact=self._compact,
            start_work=self.start,
            picks=self._picks,
            sync_session=self._sync_session,
            on_this_machine=self._on_this_machine,
            show_shell=self._show_shell,
            job_output=self._job_output,
        )
        if self._assembled is None:
            self.engine = LazyEngine(config, self.connection, for_workers=self._for_workers)
        else:
            self._assembled.reconfigure(keys, config.base_urls, config.fallback_models)

    @property
    def runner(self) -> AgentRunner:
        """What runs the agents, assembled on first use. `start` and `started` start it."""
        if self._assembled is None:
            self._assembled = assemble(
                self.connection,
                self.config,
                self.keys,
                engine=self.engine,
                approve=self._approve,
                ask_seconds=self._ask_seconds,
                on_wait=self._on_wait,
            )
        return self._assembled

    def start(self) -> None:
        """Starts the agents in the background: a prompt is stored and shown before they run."""
        if not self._is_started and (self._starting is None or self._starting.done()):
            self._starting = asyncio.ensure_future(self._start_or_report())

    async def started(self) -> AgentRunner:
        """Starts the agents, once, and returns what runs them. The next call tries again.

        Raises `SapwoodError` or `Failure`.
        """
        async with self._start_once:
            if not self._is_started:
                await self.runner.start()
                self._is_started = True
        return self.runner

    def warm_up(self) -> None:
        """Imports what the first prompt needs, once, while the person is still typing it."""
        if self._warming is None and not self._is_started and self.connection.server is None:
            self._warming = asyncio.ensure_future(self._warm_up())

    async def close(self) -> None:
        """Stops the agents. Open turns stay open; the next process continues them."""
        if self._warming is not None:
            self._warming.cancel()
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._assembled is not None:
            await self._assembled.close()

    async def _start_or_report(self) -> None:
        try:
            await self.started()
        except (SapwoodError, Failure) as error:
            self._report(f"The prompt is stored, but agents cannot run now: {error}")
        except Exception:
            _log.exception("Prompts are stored, but agents cannot run now.")

    async def _warm_up(self) -> None:
        _ = self.runner
        with suppress(SapwoodError):  # the prompt reports it
            await self.engine.warm_up()

    def _job_output(self, agent: AgentId, number: int) -> str:
        """The end of what a background command has printed; empty if another process runs it."""
        jobs = self._assembled.jobs if self._assembled is not None else None
        return jobs.tail(agent, number) if jobs is not None else ""

    async def _compact(
        self,
        agent: AgentId,
        keep: int,
        anyway: bool,
        why: CommandMeta,
        wanted: str,
        before_storing: Callable[[], Awaitable[None]] | None,
    ) -> Done | Refusal:
        return await self.runner.compact(agent, keep, anyway, why, wanted, before_storing)

    async def _sync_session(self, agent: AgentId) -> None:
        """Brings a program's session to the live path in the background: the face continues."""
        task = asyncio.ensure_future(self.runner.sync_session(agent))
        self._syncing.add(task)
        task.add_done_callback(self._syncing.discard)
