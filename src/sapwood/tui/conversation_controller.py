"""Connects the screen with the conversation service and the running agents.

It has no widgets. It passes the answers to a `ConversationFace`, which draws them.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Protocol

from sapwood.app.agent_runner import AgentOutput, AgentRunner
from sapwood.app.assembly import assemble
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import conversation_service
from sapwood.app.engines import LazyEngine
from sapwood.app.permission_questions import (
    PermissionQuestions,
    PostedQuestion,
    send_answer,
    waiting_questions,
)
from sapwood.config.config_file import Config
from sapwood.conversation.answers import Answer as CommandAnswer
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService, Outcome
from sapwood.conversation.session import ConversationSession
from sapwood.core.command_table import SlashCommand
from sapwood.core.commands import CommandMeta
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.imports.importer import Importer
from sapwood.turns.dispatch import Done
from sapwood.turns.open_agent import OpenAgent
from sapwood.workspace.permissions.permission_gate import PermissionAnswer, PermissionQuestion


class ConversationFace(Protocol):
    """The part of a user interface that shows answers and asks for permissions."""

    async def show_answer(self, answer: CommandAnswer) -> None:
        """Shows the answer to a step."""
        ...

    def show_refusal(self, text: str) -> None:
        """Shows why a step was refused, and what to do instead."""
        ...

    async def ask_permission(self, question: PermissionQuestion) -> PermissionAnswer:
        """Asks the person whether a tool may run; returns the answer."""
        ...


class ConversationController:
    """Runs one conversation at a time, and the agents of its space."""

    face: ConversationFace

    def __init__(
        self, connection: Connection, config: Config, keys: dict[str, str], folder: str
    ) -> None:
        self.connection = connection
        self.config = config
        self.keys = keys
        self.session = ConversationSession(self._service(), folder)
        self.questions = PermissionQuestions(
            connection, lambda question: self.face.ask_permission(question)
        )
        self._running: AgentRunner | None = None
        self._engine: LazyEngine | None = None
        self._started = False
        self._starting: asyncio.Task[None] | None = None
        self._assuming: set[asyncio.Task[None]] = set()
        self._warming: asyncio.Task[None] | None = None

    def configure(self, config: Config, keys: dict[str, str]) -> None:
        """Replaces the configuration, for example after the first run chose a model."""
        self.config = config
        self.keys = keys
        self.session.service = self._service()
        if self._running is not None:
            self._running.use_keys(keys, config.base_urls)

    def _service(self) -> ConversationService:
        return conversation_service(
            self.connection,
            self.config,
            self.keys,
            compact=self._compact,
            start_work=self._start_work,
            picks=True,
            assume=self._assume,
        )

    # The conversation

    @property
    def agent(self) -> AgentId | None:
        """The agent that is shown."""
        return self.session.agent

    @agent.setter
    def agent(self, agent: AgentId | None) -> None:
        self.session.agent = agent

    @property
    def folder(self) -> str:
        """The folder that new conversations work in."""
        return self.session.folder

    async def opened(self) -> OpenAgent | None:
        """Opens the shown agent; None if no conversation is shown."""
        return await self.connection.dispatcher.open(self.agent) if self.agent else None

    async def state(self) -> State | None:
        """The current state of the shown agent; None if no conversation is shown."""
        opened = await self.opened()
        return opened.state if opened else None

    async def import_session(self, path: str, source: str = "") -> AgentId:
        """Imports a session of another program, or only what is new in it.

        Raises `SapwoodError` if the file cannot be imported.
        """
        importer = Importer(self.connection)
        try:
            done = await importer.bring(Path(path), source or None)
        finally:
            await importer.close()
        if done.problem:
            raise SapwoodError(f"{path} could not be imported: {done.problem}")
        return done.agent

    def watch(self, agent: AgentId, after: int) -> AsyncGenerator[AgentOutput]:
        """Yields events and deltas of an agent as they arrive, from any process."""
        return self.running.watch(agent, after)

    async def waiting_questions(self) -> list[PostedQuestion]:
        """The questions of the shown agent that nobody has answered and no page here shows."""
        if self.agent is None:
            return []
        waiting = await waiting_questions(self.connection, self.agent)
        return [posted for posted in waiting if posted.id not in self.questions.asked_here]

    async def answer(self, posted: PostedQuestion) -> None:
        """Asks the person about a call that another process runs, and sends the answer there."""
        answer = await self.face.ask_permission(posted.question)
        if refused := await send_answer(self.connection, posted, answer):
            self.face.show_refusal(refused.sentence)

    # What runs

    @property
    def running(self) -> AgentRunner:
        """The agents of this space, assembled on first use. `start_running` starts them."""
        if self._running is None:
            self._engine = LazyEngine(self.config, self.connection)
            self._running = assemble(
                self.connection,
                self.config,
                self.keys,
                engine=self._engine,
                approve=self.questions.ask,
            )
        return self._running

    async def start_running(self) -> None:
        """Starts the agents of this space, once."""
        if not self._started:
            self._started = True
            await self.running.start()

    async def _assume(self, agent: AgentId) -> None:
        """Brings a program's session to the live path in the background: the screen goes on."""
        task = asyncio.ensure_future(self.running.assume(agent))
        self._assuming.add(task)
        task.add_done_callback(self._assuming.discard)

    def _start_work(self) -> None:
        """Starts the agents in the background: a prompt is stored and shown before they run."""
        if not self._started:
            self._starting = asyncio.ensure_future(self._started_running())

    async def _started_running(self) -> None:
        try:
            await self.start_running()
        except (SapwoodError, Failure) as error:
            self._started = False  # the next prompt tries again
            self.face.show_refusal(f"The prompt is stored, but agents cannot run now: {error}")

    def warm_up(self) -> None:
        """Imports what the first prompt needs, once, while the person is still typing it."""
        if self._warming is None and not self._started and self.connection.server is None:
            self._warming = asyncio.ensure_future(self._warm_up())

    async def _warm_up(self) -> None:
        _ = self.running  # creates the engine
        with suppress(SapwoodError):  # the prompt reports it
            if self._engine is not None:
                await self._engine.warm_up()

    async def resume(self) -> None:
        """Continues a turn that an earlier process left open."""
        if self.agent and await self.session.is_working():
            await self.start_running()
            await self.running.wake(self.agent)

    async def interrupt(self) -> bool:
        """Interrupts the open turn; returns false if no turn is open. The queue then waits."""
        if self.agent is None or not await self.session.is_working():
            return False
        self.session.drop_rest()
        await self.running.interrupt(self.agent, "by the user")
        return True

    async def stop(self, agent: AgentId) -> None:
        """Interrupts the turn of the shown agent or of another one, such as a child."""
        if agent == self.agent:
            await self.interrupt()
        else:
            await self.running.interrupt(agent, "by the user")

    async def close(self) -> None:
        """Stops the agents. Open turns stay open; the next process continues them."""
        if self._warming is not None:
            self._warming.cancel()
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._running is not None:
            await self._running.close()

    async def _compact(
        self, agent: AgentId, keep: int, anyway: bool, why: CommandMeta, wanted: str
    ) -> Done | Refusal:
        return await self.running.compact(agent, keep, anyway, why, wanted)

    # What is typed

    async def submit(self, text: str) -> bool:
        """Runs or queues a submission; returns false if it was refused."""
        return await self._show(self.session.submit(text))

    async def run(self, command: SlashCommand) -> bool:
        """Runs a command without arguments, for a key; returns false if it was refused."""
        return await self._show(self.session.run(CommandStep(command)))

    async def turn_ended(self) -> None:
        """Sends the messages that were queued during the turn."""
        await self._show(self.session.turn_ended())

    async def _show(self, outcomes: AsyncGenerator[Outcome]) -> bool:
        try:
            async with aclosing(outcomes):
                async for outcome in outcomes:
                    if isinstance(outcome.answer, Refusal):
                        self.face.show_refusal(outcome.answer.sentence)
                        return False
                    await self.face.show_answer(outcome.answer)
        except (SapwoodError, Failure) as error:
            self.session.drop_rest()
            self.face.show_refusal(str(error))
            return False
        return True
