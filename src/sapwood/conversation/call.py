"""One call of a command: who calls it, on which agent, and what its handler may use.

The Protocols here are what handlers need from outside. `sapwood.app` provides them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Protocol

from msgspec import Struct

from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.script import CommandStep
from sapwood.core.commands import Command, CommandMeta, Fork
from sapwood.core.content import PromptPart, ToolCall
from sapwood.core.errors import RefusedError, accepted
from sapwood.core.events import HUMAN, Actor, InstructionText
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.refusals import BadArguments, NoConversation, Refusal
from sapwood.core.settings import Settings, Workspace
from sapwood.core.state import State
from sapwood.core.token_count import Counter
from sapwood.turns.checkpoints import Checkpoints
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.command_batch import request_text
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import Log
from sapwood.turns.open_agent import OpenAgent, open_agent
from sapwood.workspace.custom_commands import CustomCommand
from sapwood.workspace.permissions.kept_rules import RuleSources
from sapwood.workspace.space_folder import SpaceFolder


class OpenSpace(Protocol):
    """One space of an open database."""

    @property
    def log(self) -> Log:
        """Its log."""
        ...

    @property
    def space(self) -> Space:
        """Its name."""
        ...

    @property
    def address(self) -> str:
        """The address of the database; empty if the log was not opened from one."""
        ...

    @property
    def dispatcher(self) -> Dispatcher:
        """What carries out commands of the core in it."""
        ...

    def masked(self, text: str) -> str:
        """The text with its secrets masked, also the configured keys."""
        ...

    def counter_for(self, model: str) -> Counter:
        """The best token counter for a model."""
        ...

    async def close(self) -> None:
        """Closes the database."""
        ...


class ModelChoice(Protocol):
    """Which models can be called, and what a new conversation starts with."""

    @property
    def default(self) -> str:
        """The model of new conversations, empty if none is configured."""
        ...

    def require(self, model: str) -> None:
        """Raises `Failure` when a call to this model would fail for want of a key or a package."""
        ...

    def doubt(self, model: str) -> str:
        """Why a name may be mistyped: its provider lists no such model. Empty if it is not."""
        ...

    def first_settings(self, model: str = "", *, system: str | None = None) -> Settings:
        """The settings of a new conversation, perhaps with another model and prompt."""
        ...


class ProgramSessions(Protocol):
    """Changes the sessions that other programs keep for agents."""

    def exclusive(self, agent: AgentId) -> AbstractAsyncContextManager[None]:
        """No other process imports or changes the agent's session in the block."""
        ...

    async def prepare(self, agent: AgentId, *, changes: bool = True) -> None:
        """Imports what is new in the session. Raises `RefusedError` if it cannot be changed now."""
        ...

    async def sync_session(self, agent: AgentId) -> str:
        """Brings the session to the present history. Returns how to go on in the program."""
        ...


BeforeStoring = Callable[[], Awaitable[None]]
"""Called before something is stored that took long to make."""

WriteSummary = Callable[
    [AgentId, int, bool, CommandMeta, str, BeforeStoring | None], Awaitable[Done | Refusal]
]
"""Has a model write a summary, and stores it."""


class HeldSession:
    """The session of an agent, from `take` on: nobody else imports or changes it.

    A command that waits for a model releases it meanwhile, and takes it again before it changes
    the history. What the session has got meanwhile is imported then.
    """

    def __init__(self, sessions: ProgramSessions, agent: AgentId, *, changes: bool) -> None:
        self._sessions = sessions
        self._agent = agent
        self._changes = changes
        self._lock = AsyncExitStack()
        self.is_held = False

    async def take(self) -> None:
        """Waits until nobody else uses the session, and imports what is new.

        Raises `RefusedError` if it cannot be changed now.
        """
        await self._lock.enter_async_context(self._sessions.exclusive(self._agent))
        self.is_held = True
        await self._sessions.prepare(self._agent, changes=self._changes)

    async def release(self) -> None:
        """Lets others use the session."""
        self.is_held = False
        await self._lock.aclose()


class Services(Struct, frozen=True):
    """What handlers may use. What a face leaves out cannot be used through it.

    `compact` has a model write a checked summary, with what a person wants to be kept in it.
    `checkpoints` gives access to saved files, `take_over` forks an imported conversation so that it
    can go on here, and `start_work` is called when an agent got something to do; it starts what
    drives agents and does not wait. `permissions` are the rules for tools. `picks`: a person can
    pick a missing argument from a list. `instructions` reads the default prompt and the workspace's
    instructions; it returns None if both are switched off. `sessions` changes the sessions of other
    programs. `sync_session` does it for an agent whose program runs in this process. `folder` is
    the only folder in which agents of the space work; None if they may work in any. `bring_tokens`
    is the size up to which a turn that a prompt names is brought back by itself. `on_this_machine`:
    the person who uses the face started this process, so `!COMMAND` runs here with its rights, and
    `@FILE` reads files here. `check_prompt` runs the person's hooks before a prompt is stored, and
    returns a refusal if one objects. `custom_commands` reads those of a workspace, and its skills.
    `show_shell` gets the line of a `!COMMAND` that runs, and its output as it comes, first none.
    `job_output` returns the end of what a background command of this process has printed.
    """

    space: OpenSpace
    models: ModelChoice | None = None
    compact: WriteSummary | None = None
    checkpoints: Callable[[], Checkpoints] | None = None
    take_over: Callable[[Fork], Awaitable[AgentId]] | None = None
    start_work: Callable[[], None] | None = None
    permissions: RuleSources | None = None
    picks: bool = False
    instructions: Callable[[Workspace], tuple[InstructionText, ...] | None] | None = None
    sessions: ProgramSessions | None = None
    sync_session: Callable[[AgentId], Awaitable[None]] | None = None
    folder: SpaceFolder | None = None
    bring_tokens: int = 0
    on_this_machine: bool = False
    check_prompt: Callable[[State, Sequence[PromptPart]], Awaitable[Refusal | None]] | None = None
    custom_commands: Callable[[Workspace], tuple[CustomCommand, ...]] | None = None
    show_shell: Callable[[AgentId, str, bytes], None] | None = None
    job_output: Callable[[AgentId, int], str] | None = None

    def workspace_of(self, state: State) -> Workspace:
        """The workspace of an agent, without a folder if the space does not allow that folder."""
        workspace = state.workspace
        return workspace if self.folder is None else self.folder.confined(workspace)

    async def read_custom_commands(self, workspace: Workspace) -> tuple[CustomCommand, ...]:
        """The custom commands and skills for a workspace as they are now."""
        read = self.custom_commands
        return await asyncio.to_thread(read, workspace) if read is not None else ()


class Person(Struct, frozen=True):
    """A person, or a program that acts for one. A repeated `command_id` acts once."""

    actor: Actor = HUMAN
    command_id: str | None = None


class ModelCall(Struct, frozen=True):
    """A model, by a tool call. The same call always acts once.

    `parks` says that a wait may be given back unfinished, to be looked at again later.
    """

    state: State
    call: ToolCall
    model: str
    parks: bool = True


Caller = Person | ModelCall


class Prompter(Protocol):
    """Opens a turn with a prompt. Raises `Failure` if the agent's model cannot be called."""

    async def __call__(
        self,
        agent: AgentId,
        prompt: tuple[PromptPart, ...],
        *,
        actor: Actor = HUMAN,
        command_id: str | None = None,
        request: str = "",
        checked: bool = False,
    ) -> Prompted | Refusal:
        """Opens it. `checked`: the person's hooks saw this prompt already."""
        ...


class Call(Struct, frozen=True):
    """A command on its way to its handler. `goal` is the text that stood before a fork.

    `request` is what was asked for, unless that is just what was typed. `prompt` opens a turn of an
    agent. `session` is that of the agent in another program, if the command changes or reads it.
    """

    services: Services
    run: CommandStep
    current: AgentId | None
    caller: Caller = Person()
    goal: str = ""
    request: str = ""
    prompt: Prompter | None = None
    session: HeldSession | None = None

    @property
    def space(self) -> OpenSpace:
        """The space in which the agent lives."""
        return self.services.space

    @property
    def agent(self) -> AgentId:
        """The agent that is meant. Raises `RefusedError` where there is no conversation yet."""
        if self.current is None:
            raise RefusedError(NoConversation())
        return self.current

    @property
    def words(self) -> list[str]:
        """The arguments, split at spaces."""
        return self.run.args.split()

    @property
    def first_and_rest(self) -> tuple[str, str]:
        """The first word of the arguments, and all that follows it as it was typed."""
        first, *rest = self.run.args.split(maxsplit=1) or [""]
        return first, rest[0] if rest else ""

    @property
    def by_model(self) -> bool:
        """Whether a model calls."""
        return isinstance(self.caller, ModelCall)

    def misused(self, reason: str) -> RefusedError:
        """The error for arguments that do not fit, with the way to type the command."""
        return RefusedError(BadArguments(self.run.command.line, reason))

    async def opened(self) -> OpenAgent:
        """The agent's state and live path as they are now."""
        return await self.space.dispatcher.open(self.agent)

    async def give(self, command: Command) -> Done:
        """Dispatches a command of the core. Raises `RefusedError`."""
        return accepted(await self.space.dispatcher.dispatch(command, self.given()))

    async def changed(self, command: Command) -> Changed:
        """Dispatches a command of the core and returns what it says. Raises `RefusedError`."""
        done = await self.give(command)
        return Changed(self.agent, done.message, done.events)

    async def opened_before(self, step: str = "") -> OpenAgent:
        """The agent as it was before this command or this step of it, if that was carried out
        under its id before; else as it is now.

        A handler that chooses by what is in view chooses the same when its command is repeated.
        Raises `RefusedError` if the id was used for another command.
        """
        now = await self.opened()  # before the look at the id, which may be in use elsewhere
        first = await self.first_answer(step)
        own = [each.version for each in first.events if each.agent == self.agent] if first else []
        if not own:
            return now
        return await open_agent(self.space.log, self.space.space, self.agent, min(own) - 1)

    async def give_step(self, command: Command, step: str) -> Done:
        """Dispatches a step of a command of a person, under an id of its own, before the last one.

        The last one has the id of the command, so a command whose id is known was carried out to
        its end. Raises `RefusedError`.
        """
        assert isinstance(self.caller, Person)
        why = command_meta(self.caller.actor, command=self._id_of(step), request=self._asked)
        return accepted(await self.space.dispatcher.dispatch(command, why))

    def _id_of(self, step: str) -> str | None:
        """The id of one of several commands that this call gives; None if the call has no id."""
        once = self.caller.command_id if isinstance(self.caller, Person) else None
        return f"{once}:{step}" if once and step else once

    async def open_turn(self, prompt: tuple[PromptPart, ...], *, checked: bool = False) -> Prompted:
        """Opens a turn with a prompt of the person who calls, as the last step of the command.

        `checked`: the person's hooks saw the prompt already. Raises `RefusedError`.
        """
        assert self.prompt is not None
        assert isinstance(self.caller, Person)
        if (first := await self.first_prompted()) is not None:
            return first
        return accepted(
            await self.prompt(
                self.agent,
                prompt,
                actor=self.caller.actor,
                command_id=self.caller.command_id,
                request=self._asked,
                checked=checked,
            )
        )

    async def first_prompted(self) -> Prompted | None:
        """The answer to this command if it opened its turn under its id before.

        Raises `RefusedError` if the id was used for another command.
        """
        first = await self.first_answer()
        if first is None:
            return None
        if self.services.start_work is not None:
            self.services.start_work()
        return Prompted(self.agent, first.events[-1].version, first.message)

    async def first_answer(self, step: str = "") -> Done | None:
        """The answer to this command or this step if it was carried out under its id before.

        For handlers that do much before they give their command. Raises `RefusedError` if the id
        was used for another command.
        """
        once = self._id_of(step)
        if once is None:
            return None
        return accepted(await self.space.dispatcher.first_answer(CommandId(once), self._asked))

    @property
    def _asked(self) -> str:
        return self.request or typed_request(self.current, self.run, self.goal)

    def given(self) -> CommandMeta:
        """The meta data of the command of the core: who calls, now, under which id."""
        asked = self._asked
        match self.caller:
            case Person(actor, command_id):
                return command_meta(actor, command=command_id, request=asked)
            case ModelCall(state, call, model):
                turn = state.open.first if state.open else 0
                once = f"{state.agent}:{turn}:{call.id}"
                by = Actor("model", model)
                return command_meta(by, call=call.id, command=once, request=asked)


def typed_request(agent: AgentId | None, run: CommandStep, goal: str = "") -> str:
    """What a typed command asks for, as the `request` of the command that its handler gives."""
    return request_text(run.command.typed, agent, run.args, goal)
