"""Connects the screen with the conversation service and the running agents.

It knows no widgets. A `Front` is given the answers and draws them.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

from sapwood.app.assembling import assemble
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import conversation_service
from sapwood.app.importing import Importer
from sapwood.app.late_engine import LateEngine
from sapwood.app.running import Running, Shown
from sapwood.conversation.answers import Answer as CommandAnswer
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService, Outcome
from sapwood.conversation.session import ConversationSession
from sapwood.core.calling import Failure
from sapwood.core.command_table import SlashCommand
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.runtime.dispatch import Done
from sapwood.runtime.opening import Opened
from sapwood.workspace.permissions.asking import Answer, Question

__all__ = ["Desk", "Front"]


class Front(Protocol):
    """Whatever shows the conversation."""

    async def answered(self, answer: CommandAnswer) -> None:
        """Shows the answer to a step."""
        ...

    def refused(self, text: str) -> None:
        """Shows why something was not done, and what to do instead."""
        ...

    async def asked(self, question: Question) -> Answer:
        """Asks the person whether a tool may run."""
        ...


class Desk:
    """One conversation at a time, with the agents of its space."""

    front: Front

    def __init__(
        self, connection: Connection, config: Config, keys: dict[str, str], folder: str
    ) -> None:
        self.connection = connection
        self.config = config
        self.keys = keys
        self.session = ConversationSession(self._service(), folder)
        self._running: Running | None = None
        self._engine: LateEngine | None = None
        self._started = False

    def configure(self, config: Config, keys: dict[str, str]) -> None:
        """Takes over a configuration, such as the model that was chosen at the first start."""
        self.config = config
        self.keys = keys
        self.session.service = self._service()

    def _service(self) -> ConversationService:
        return conversation_service(
            self.connection,
            self.config,
            self.keys,
            compact=self._compact,
            before_work=self.start_running,
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

    async def opened(self) -> Opened | None:
        """The agent as it is now."""
        return await self.connection.dispatcher.open(self.agent) if self.agent else None

    async def state(self) -> State | None:
        """Its state."""
        opened = await self.opened()
        return opened.state if opened else None

    async def bring(self, path: str, source: str = "") -> AgentId:
        """Imports a session of another program, or what has come to it since it was imported."""
        importer = Importer(self.connection)
        try:
            done = await importer.bring(Path(path), source or None)
        finally:
            await importer.close()
        if done.problem:
            raise SapwoodError(f"{path} could not be imported: {done.problem}")
        return done.agent

    def watch(self, agent: AgentId, after: int) -> AsyncGenerator[Shown]:
        """Events and pieces of answers as they come, whichever process makes them."""
        return self.running.watch(agent, after)

    # What runs

    @property
    def running(self) -> Running:
        """The agents of this space; they run from the first prompt on."""
        if self._running is None:
            self._engine = LateEngine(self.config)
            self._running = assemble(
                self.connection,
                self.config,
                self.keys,
                engine=self._engine,
                approve=lambda question: self.front.asked(question),
            )
        return self._running

    async def start_running(self) -> None:
        """Starts to run agents, once there is something to do."""
        if not self._started:
            self._started = True
            await self.running.start()

    async def warm_up(self) -> None:
        """Imports what a first prompt needs while somebody is still typing it."""
        _ = self.running
        if self._engine is not None and not self._started:
            await self._engine.warm_up()

    async def resume(self) -> None:
        """Goes on with a turn that a process left open."""
        if self.agent and await self.session.is_working():
            await self.start_running()
            await self.running.wake(self.agent)

    async def interrupt(self) -> bool:
        """Stops the turn and keeps what was there; what is queued waits until it is sent."""
        if self.agent is None or not await self.session.is_working():
            return False
        self.session.pause()
        await self.running.interrupt(self.agent, "by the user")
        return True

    async def stop(self, agent: AgentId) -> None:
        """Stops the turn of any agent, this one or a child."""
        if agent == self.agent:
            await self.interrupt()
        else:
            await self.running.interrupt(agent, "by the user")

    async def close(self) -> None:
        """Stops running agents. Open turns stay open and go on when something runs them again."""
        if self._running is not None:
            await self._running.close()

    async def _compact(self, agent: AgentId, keep: int) -> Done | Refusal:
        return await self.running.compact(agent, keep)

    # What is typed

    async def submit(self, text: str) -> bool:
        """Carries out what was sent, or queues it; false if it was refused and should be kept."""
        return await self._show(self.session.submit(text))

    async def run(self, command: SlashCommand) -> bool:
        """Carries out a command without arguments, as a key does."""
        return await self._show(self.session.run(CommandStep(command)))

    async def turn_ended(self) -> None:
        """Sends what waited for the end of the turn."""
        await self._show(self.session.turn_ended())

    async def _show(self, outcomes: AsyncGenerator[Outcome]) -> bool:
        try:
            async with aclosing(outcomes):
                async for outcome in outcomes:
                    if isinstance(outcome.answer, Refusal):
                        self.front.refused(outcome.answer.sentence)
                        return False
                    await self.front.answered(outcome.answer)
        except (SapwoodError, Failure) as error:
            self.session.drop_rest()
            self.front.refused(str(error))
            return False
        return True
