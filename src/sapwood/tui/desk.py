"""The desk: what was typed is carried out here, on one conversation at a time.

It knows no widgets. A `Front` is told what came of it, and draws.
"""

from collections import deque
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Protocol

from sapwood.app.assembling import assemble
from sapwood.app.checkpointing import revert
from sapwood.app.choosing import first_settings, require_model, switch_model
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.finding import find
from sapwood.app.gardening.taking_over import take_over
from sapwood.app.idling import until_idle
from sapwood.app.importing import Importer
from sapwood.app.late_engine import LateEngine
from sapwood.app.running import Running, Shown
from sapwood.core.calling import Failure
from sapwood.core.commands import Command, Fork, StartAgent, StartTurn
from sapwood.core.content import Text
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Imported, Refusal, TurnIsOpen
from sapwood.core.settings import Workspace
from sapwood.core.slash import Fresh, Run, Say, Script, interpret, kept_turns, parse
from sapwood.core.slash.chunks import chunks, has_prompt
from sapwood.core.state import State
from sapwood.core.titles import title_of
from sapwood.runtime.dispatch import Done
from sapwood.runtime.fresh import given, new_agent_id, new_mail_id
from sapwood.runtime.opening import Opened
from sapwood.runtime.submission import carry_out
from sapwood.workspace.permissions.asking import Answer, Question

__all__ = ["PAGES", "Desk", "Front"]

PAGES = frozenset({"agents", "config", "context", "diff", "help", "recall", "replay", "switch"})
"""Commands that are answered by a page of their own; those with a meaning beside it say when."""


class Front(Protocol):
    """Whoever shows the conversation."""

    def said(self, text: str) -> None:
        """The answer to a command."""
        ...

    def refused(self, text: str) -> None:
        """Why something was not done, and what to do instead."""
        ...

    def turn_to(self, run: Run) -> None:
        """A command asks for a page."""
        ...

    async def asked(self, question: Question) -> Answer:
        """A tool asks whether it may."""
        ...

    async def switched(self, agent: AgentId) -> None:
        """Another conversation is to be shown."""
        ...

    def leave(self) -> None:
        """The person wants to go."""
        ...


class Desk:
    """Carries out what is typed. `queue` is what waits for the end of the turn."""

    front: Front

    def __init__(
        self, connection: Connection, config: Config, keys: dict[str, str], folder: str
    ) -> None:
        self.connection = connection
        self.config = config
        self.keys = keys
        self.folder = folder
        self.agent: AgentId | None = None
        self.queue: deque[str] = deque()
        self.held = False
        self._rest: deque[Script] = deque()
        self._running: Running | None = None
        self._engine: LateEngine | None = None
        self._started = False

    # The conversation

    async def opened(self) -> Opened | None:
        """The agent as it is now."""
        return await self.connection.dispatcher.open(self.agent) if self.agent else None

    async def state(self) -> State | None:
        """Its state."""
        opened = await self.opened()
        return opened.state if opened else None

    async def is_working(self) -> bool:
        """Whether a turn is open."""
        state = await self.state()
        return state is not None and state.open is not None

    async def start_agent(self, chunk: Script) -> AgentId:
        """A new agent in this folder, called by what is first said to it.

        Raises `Failure` when its model cannot be asked.
        """
        require_model(self.config.model, self.config, self.keys)
        agent = new_agent_id()
        settings = first_settings(self.config, self.config.model)
        words = next((step.text for step in chunk if isinstance(step, Say)), "")
        await self._do(StartAgent(agent, title_of(words), settings, Workspace(folder=self.folder)))
        return agent

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
        """Events and pieces of answers as they come, whoever makes them."""
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
        """Has agents driven, once there is something to do."""
        if not self._started:
            self._started = True
            await self.running.start()

    async def warm_up(self) -> None:
        """Gets ready for a first prompt while somebody is still typing it."""
        _ = self.running
        if self._engine is not None and not self._started:
            await self._engine.warm_up()

    async def resume(self) -> None:
        """Goes on with a turn that a process left open."""
        if self.agent and await self.is_working():
            await self.start_running()
            await self.running.wake(self.agent)

    async def interrupt(self) -> bool:
        """Stops the turn; what was there is kept, and what is queued waits for a word."""
        if self.agent is None or not await self.is_working():
            return False
        self.held = bool(self.queue)
        self._rest.clear()
        await self.running.interrupt(self.agent, "by the user")
        return True

    async def stop(self, agent: AgentId) -> None:
        """Stops the turn of any agent, this one or a child."""
        if agent == self.agent:
            await self.interrupt()
        else:
            await self.running.interrupt(agent, "by the user")

    async def close(self) -> None:
        """Lets go. Open turns stay open and go on when something runs them again."""
        if self._running is not None:
            await self._running.close()

    # What is typed

    async def submit(self, text: str) -> bool:
        """Carries out what was sent, or queues it; false if it was refused and should be kept."""
        try:
            return await self._submit(text)
        except (SapwoodError, Failure) as error:
            self._rest.clear()
            self.front.refused(str(error))
            return False

    async def _submit(self, text: str) -> bool:
        script = parse(text)
        if isinstance(script, Refusal):
            self.front.refused(script.sentence)
            return False
        if not script:
            return await self.send_next()
        if has_prompt(script) and (self._rest or await self.is_working()):
            self.queue.append(text)
            return True
        await self._play(list(chunks(script)))
        return True

    async def send_next(self) -> bool:
        """The turn has ended: what waited goes on."""
        if await self.is_working():
            return True
        self.held = False
        if self._rest:
            rest, self._rest = list(self._rest), deque()
            await self._play(rest)
        elif self.queue:
            return await self.submit(self.queue.popleft())
        return True

    async def turn_ended(self) -> None:
        """Sends what waited, unless the turn was interrupted with a queue behind it."""
        if not self.held:
            await self.send_next()

    async def _play(self, script: list[Script]) -> None:
        for number, chunk in enumerate(script):
            await self._step(chunk)
            if len(chunk) == 1 and isinstance(chunk[0], Say):
                self._rest.extend(script[number + 1 :])
                break

    async def _step(self, chunk: Script) -> None:
        last = chunk[-1]
        if isinstance(last, Run) and await self._answered(last):
            return
        if self.agent is None:
            self.agent = await self.start_agent(chunk)
            await self.front.switched(self.agent)
        if isinstance(last, Say):
            await self._ask(self.agent, last.text)
        elif last.command.name == "fork":
            await self.start_running()  # the child may have work to do
            await self._fork(self.agent, chunk, last)
        else:
            await self._carry_out(self.agent, chunk)

    async def _ask(self, agent: AgentId, text: str) -> None:
        state = await self.state()
        if state is not None and state.origin is not None:
            raise RefusedError(Imported(agent, state.origin.source))
        require_model(state.settings.model if state else "", self.config, self.keys)
        await self.start_running()
        await self._do(StartTurn(agent, (Text(text),)))

    async def _fork(self, agent: AgentId, chunk: Script, run: Run) -> None:
        """A child. One of an imported conversation is where that goes on, so it is shown."""
        state = await self.state()
        if state is None or state.origin is None:
            await self._carry_out(agent, chunk)
            return
        goal = chunk[0].text if isinstance(chunk[0], Say) else ""
        fork = interpret(run, agent, Fresh(new_agent_id(), new_mail_id()), goal=goal)
        if isinstance(fork, Refusal):
            raise RefusedError(fork)
        assert isinstance(fork, Fork)
        child = await take_over(self.connection, self.config, self.keys, fork)
        await self.front.switched(child)
        self.front.said(f"Forked. This is {child}; what was imported stays as it is.")

    async def _carry_out(self, agent: AgentId, chunk: Script) -> None:
        held = self.connection
        switch = partial(switch_model, held, self.config, self.keys)
        for outcome in await carry_out(held.log, held.space, held.dispatcher, agent, chunk, switch):
            if isinstance(outcome.done, Refusal):
                raise RefusedError(outcome.done)
            if outcome.done is None:
                name = outcome.step.command.name if isinstance(outcome.step, Run) else ""
                raise SapwoodError(f"/{name} cannot be used here.")
            self.front.said(outcome.done.says)
            if isinstance(outcome.step, Run) and outcome.step.command.name == "new":
                fresh = next(ref.agent for ref in outcome.done.events if ref.agent != agent)
                await self.front.switched(fresh)

    async def _answered(self, run: Run) -> bool:
        """Whether the command was one for the screen and not for the log."""
        match run.command.name:
            case "exit":
                self.front.leave()
            case "switch" if run.args:
                await self.front.switched(await find(self.connection, run.args))
            case "model" | "system" if not run.args:
                await self._tell_setting(run.command.name)
            case "compact" if self.agent:
                await self._compact(self.agent, run)
            case "revert" if self.agent:
                await self._revert(self.agent, run)
            case "wait" if self.agent:
                self.front.said(await until_idle(self.connection, self.agent, run.args))
            case "check-mail" if run.args == "--peek":
                self.front.turn_to(run)
            case "config" if run.args:
                return False
            case name if name in PAGES:
                self.front.turn_to(run)
            case _:
                return False
        return True

    async def _tell_setting(self, name: str) -> None:
        state = await self.state()
        value: str = getattr(state.settings, name) if state else ""
        value = value or (self.config.model if name == "model" else "")
        self.front.said(value or f"There is no {'model' if name == 'model' else 'system prompt'}.")

    async def _compact(self, agent: AgentId, run: Run) -> None:
        keep = kept_turns(run)
        if isinstance(keep, Refusal):
            raise RefusedError(keep)
        if await self.is_working():
            raise RefusedError(TurnIsOpen("/compact"))
        done = await self.running.compact(agent, keep)
        if isinstance(done, Refusal):
            raise RefusedError(done)
        self.front.said(done.says)

    async def _revert(self, agent: AgentId, run: Run) -> None:
        done = await revert(self.connection, self.config, agent, run.args)
        if isinstance(done, Refusal):
            raise RefusedError(done)
        self.front.said(done.says)

    async def _do(self, command: Command) -> Done:
        answer = await self.connection.dispatcher.dispatch(command, given())
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        return answer
