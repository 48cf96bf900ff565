"""Connects the screen with the conversation service and the running agents.

It has no widgets. It passes the answers to a `ConversationFace`, which draws them.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

from msgspec import structs

from sapwood.app.agent_runner import AgentOutput
from sapwood.app.connection import Connection
from sapwood.app.permission_questions import (
    PermissionQuestions,
    PostedQuestion,
    send_answer,
    waiting_questions,
)
from sapwood.app.running_space import RunningSpace
from sapwood.config.changed_files import ConfigFiles
from sapwood.config.config_file import Config, ConfigError, load_config
from sapwood.conversation.answers import Answer as CommandAnswer
from sapwood.conversation.call import Services
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import Outcome
from sapwood.conversation.session import ConversationSession
from sapwood.core.command_table import SlashCommand
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure, RetryWait
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.imports.importer import Importer
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

    def show_failure(self, failure: Failure) -> None:
        """Shows why a model cannot be called, and asks for what is missing."""
        ...

    def show_shell(self, agent: AgentId, line: str, output: bytes) -> None:
        """Shows a shell command of the person while it runs, and what it has just printed."""
        ...

    def show_wait(self, wait: RetryWait) -> None:
        """Shows that a call failed and when it is tried again."""
        ...

    async def ask_permission(self, question: PermissionQuestion) -> PermissionAnswer:
        """Asks the person whether a tool may run; returns the answer."""
        ...


def _given(config: Config) -> dict[str, object]:
    """The settings of the command line, which the files do not have."""
    try:
        files = load_config()
    except ConfigError:
        return {}
    names = Config.__struct_fields__
    return {
        name: getattr(config, name)
        for name in names
        if getattr(config, name) != getattr(files, name)
    }


class ConversationController:
    """Runs one conversation at a time, and the agents of its space."""

    face: ConversationFace

    def __init__(
        self, connection: Connection, config: Config, keys: dict[str, str], folder: str
    ) -> None:
        self.connection = connection
        self.questions = PermissionQuestions(
            connection, lambda question: self.face.ask_permission(question)
        )
        self.agents = RunningSpace(
            connection,
            config,
            keys,
            lambda problem: self.face.show_refusal(problem),
            picks=True,
            on_this_machine=True,
            approve=self.questions.ask,
            show_shell=lambda agent, line, output: self.face.show_shell(agent, line, output),
            on_wait=lambda wait: self.face.show_wait(wait),
        )
        self.session = ConversationSession(self.agents.service, folder)
        self.again = ""
        """What the person types to do what was just refused; empty if there is nothing."""
        self._files = ConfigFiles()
        self._given = _given(config)
        self._keys_read = keys

    @property
    def config(self) -> Config:
        """The configuration."""
        return self.agents.config

    @property
    def keys(self) -> dict[str, str]:
        """The API keys by provider."""
        return self.agents.keys

    def configure(self, config: Config, keys: dict[str, str]) -> None:
        """Replaces the configuration, for example after the first run chose a model."""
        self.agents.configure(config, keys)
        self.session.service = self.agents.service

    def read_configuration(self) -> None:
        """Uses configuration and API keys from now on if their files have changed.

        What the program was started with stays. A file that cannot be used changes nothing.
        """
        if self.connection.server is not None:
            return
        try:
            found = self._files.read_again(self.config)
        except ConfigError as error:
            self.face.show_refusal(f"The new configuration was not applied. {error}")
            return
        if found is not None:
            config, keys = found
            # A key that was typed here stays, whatever variable has another one.
            new = {name: key for name, key in keys.items() if key != self._keys_read.get(name)}
            self._keys_read = keys
            self.configure(structs.replace(config, **self._given), {**self.keys, **new})

    # The conversation

    @property
    def agent(self) -> AgentId | None:
        """The agent that is shown."""
        return self.session.agent

    @agent.setter
    def agent(self, agent: AgentId | None) -> None:
        self.session.agent = agent

    @property
    def services(self) -> Services:
        """What the commands of the conversation use."""
        return self.session.service.services

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
        return self.agents.runner.watch(agent, after)

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

    async def resume(self) -> None:
        """Continues a turn, or a goal, that an earlier process left open."""
        if self.agent and await self.session.is_working():
            await (await self.agents.started()).wake(self.agent)
        else:
            await self._show(self.session.continue_goal())

    async def interrupt(self) -> bool:
        """Interrupts the open turn; returns false if no turn is open. The queue then waits."""
        if self.agent is None or not await self.session.is_working():
            return False
        self.session.drop_rest()
        await self.agents.runner.interrupt(self.agent, "by the user")
        return True

    async def stop(self, agent: AgentId) -> None:
        """Interrupts the turn of the shown agent or of another one, such as a child."""
        if agent == self.agent:
            await self.interrupt()
        else:
            await self.agents.runner.interrupt(agent, "by the user")

    async def close(self) -> None:
        """Stops the agents. Open turns stay open; the next process continues them."""
        await self.agents.close()

    # What is typed

    async def submit(self, text: str) -> bool:
        """Runs or queues a submission; returns false if it was refused."""
        self.read_configuration()
        return await self._show(self.session.submit(text))

    async def run(self, command: SlashCommand) -> bool:
        """Runs a command without arguments, for a key; returns false if it was refused."""
        self.read_configuration()
        return await self._show(self.session.run(CommandStep(command)))

    async def require_named(self, text: str) -> None:
        """Raises `RefusedError` if a command to confirm names an agent that there is not."""
        if self.agent is not None:
            script = await self.agents.service.parsed(self.agent, text, shell=True)
            await self.agents.service.question_before(self.agent, script)

    async def turn_ended(self) -> None:
        """Sends the messages that were queued during the turn."""
        await self._show(self.session.turn_ended())

    async def _show(self, outcomes: AsyncGenerator[Outcome]) -> bool:
        self.again = ""
        try:
            async with aclosing(outcomes):
                async for outcome in outcomes:
                    if isinstance(outcome.answer, Refusal):
                        self.again = outcome.answer.again
                        self.face.show_refusal(outcome.answer.sentence)
                        return False
                    await self.face.show_answer(outcome.answer)
        except (SapwoodError, Failure) as error:
            self.session.drop_rest()
            if isinstance(error, Failure):
                self.face.show_failure(error)
            else:
                self.face.show_refusal(str(error))
            return False
        return True
