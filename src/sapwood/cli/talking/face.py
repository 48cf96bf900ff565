"""Commands that only show something, or need more than the log: what a script gets for them."""

from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import Struct

from sapwood.app.checkpointing import revert
from sapwood.app.choosing import fit_model
from sapwood.app.comparing import compare
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.finding import find
from sapwood.app.idling import until_idle
from sapwood.app.running import Running
from sapwood.cli.display.agents import agents_table
from sapwood.cli.display.context import Window, context_lines
from sapwood.cli.display.hits import hit_lines
from sapwood.cli.display.request import request_lines
from sapwood.core.budget import budget_of
from sapwood.core.content import Note
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import BadArguments, Refusal, UnknownCommand, nearest
from sapwood.core.slash import BY_NAME, COMMANDS, Run, kept_turns
from sapwood.core.view.framing import framed_prompt
from sapwood.runtime.dispatch import Done
from sapwood.runtime.fresh import now
from sapwood.runtime.replay import last_call, replay
from sapwood.runtime.submission import SwitchModel

__all__ = ["Answered", "Face", "Left"]


class Answered(Struct, frozen=True):
    """What is shown; `agent` is whom the script goes on with, where that changes."""

    text: str
    agent: AgentId | None = None


class Left(Struct, frozen=True):
    """The script ends here."""


class Face:
    """Answers the commands that the core leaves to whoever shows the conversation.

    `switch_model` says which other model may be taken; by itself, one that all in view fits.
    """

    def __init__(
        self,
        connection: Connection,
        width: int,
        *,
        config: Config | None = None,
        running: Running | None = None,
        switch_model: SwitchModel | None = None,
    ) -> None:
        self._connection = connection
        self._config = config or Config()
        self._width = width
        self._running = running
        self.switch_model: SwitchModel = switch_model or partial(fit_model, connection)
        self._answers: dict[str, Callable[[AgentId, Run], Awaitable[Answered | Left]]] = {
            "agents": self._agents,
            "check-mail": self._peek,
            "compact": self._compact,
            "config": self._settings,
            "context": self._context,
            "diff": self._diff,
            "exit": self._exit,
            "help": self._help,
            "model": self._model,
            "recall": self._recall,
            "replay": self._replay,
            "revert": self._revert,
            "switch": self._switch,
            "system": self._system,
            "wait": self._wait,
        }

    def knows(self, run: Run) -> bool:
        """Whether this command is answered here and not by a commit."""
        match run.command.name:
            case "check-mail":
                return run.args == "--peek"
            case "config" | "model" | "system":
                return not run.args
            case name:
                return name in self._answers

    async def answer(self, agent: AgentId, run: Run) -> Answered | Left:
        """The answer. Raises `RefusedError` when there is none."""
        return await self._answers[run.command.name](agent, run)

    async def _agents(self, agent: AgentId, run: Run) -> Answered:
        held = self._connection
        agents = await held.log.agents(held.space, status="running", limit=50)
        return Answered("\n".join(agents_table(agents, self._width, now())))

    async def _context(self, agent: AgentId, run: Run) -> Answered:
        opened = await self._connection.dispatcher.open(agent)
        counter = self._connection.counter_for(opened.state.settings.model)
        budget = budget_of(opened.state, opened.live, counter)
        window = Window(opened.state, opened.live, budget)
        return Answered("\n".join(context_lines(window, self._width)))

    async def _peek(self, agent: AgentId, run: Run) -> Answered:
        state = (await self._connection.dispatcher.open(agent)).state
        letters = tuple(Note("mail", letter.text, letter.sender) for letter in state.inbox)
        return Answered("\n\n".join(part.text for part in framed_prompt(letters)) or "No mail.")

    async def _recall(self, agent: AgentId, run: Run) -> Answered:
        if not run.args:
            raise _misused(run, "What is to be found?")
        held = self._connection
        hits = await held.log.search(held.space, run.args, limit=10)
        return Answered("\n".join(hit_lines(hits, self._width)))

    async def _replay(self, agent: AgentId, run: Run) -> Answered:
        held = self._connection
        if run.args and not run.args.isdigit():
            raise _misused(run, "A call is given by its version in the log.")
        last = await last_call(held.log, held.space, agent)
        version = int(run.args) if run.args else last
        seen = await replay(held.log, held.space, agent, version) if version else None
        if seen is None:
            raise SapwoodError(f"There is no model call {run.args} of {agent} to replay.")
        verdict = "The hash matches." if seen.matches else "THE HASH DOES NOT MATCH."
        return Answered("\n".join([*request_lines(seen.request), "", verdict]))

    async def _diff(self, agent: AgentId, run: Run) -> Answered:
        places = run.args.split()
        if not 1 <= len(places) <= 2:
            raise _misused(run, "One place, or two, please.")
        found = await compare(self._connection, agent, places[0], *places[1:])
        return Answered("\n".join(found.lines(self._width)))

    async def _switch(self, agent: AgentId, run: Run) -> Answered:
        if not run.args:
            raise _misused(run, "Which agent?")
        other = await find(self._connection, run.args)
        return Answered(f"Now with {other}.", other)

    async def _model(self, agent: AgentId, run: Run) -> Answered:
        state = (await self._connection.dispatcher.open(agent)).state
        return Answered(state.settings.model or "No model is chosen.")

    async def _system(self, agent: AgentId, run: Run) -> Answered:
        state = (await self._connection.dispatcher.open(agent)).state
        return Answered(state.settings.system or "There is no system prompt.")

    async def _settings(self, agent: AgentId, run: Run) -> Answered:
        settings = (await self._connection.dispatcher.open(agent)).state.settings
        pairs = ((name, getattr(settings, name)) for name in settings.__struct_fields__)
        return Answered("\n".join(f"{name} {value}" for name, value in pairs))

    async def _compact(self, agent: AgentId, run: Run) -> Answered:
        keep = kept_turns(run)
        if isinstance(keep, Refusal):
            raise RefusedError(keep)
        if self._running is None:
            raise SapwoodError(f"A model has to write the summary. Type: sapwood compact {agent}")
        return Answered(_says(await self._running.compact(agent, keep)))

    async def _revert(self, agent: AgentId, run: Run) -> Answered:
        return Answered(_says(await revert(self._connection, self._config, agent, run.args)))

    async def _help(self, agent: AgentId, run: Run) -> Answered:
        word = run.args.removeprefix("/")
        if word and word not in BY_NAME:
            raise RefusedError(UnknownCommand(f"/{word}", nearest(word, list(BY_NAME))))
        chosen = (BY_NAME[word],) if word else COMMANDS
        return Answered("\n".join(f"{each.line:<26} {each.help}" for each in chosen))

    async def _exit(self, agent: AgentId, run: Run) -> Left:
        return Left()

    async def _wait(self, agent: AgentId, run: Run) -> Answered:
        return Answered(await until_idle(self._connection, agent, run.args))


def _says(answer: Done | Refusal) -> str:
    if isinstance(answer, Refusal):
        raise RefusedError(answer)
    return answer.says


def _misused(run: Run, reason: str) -> RefusedError:
    return RefusedError(BadArguments(run.command.line, reason))
