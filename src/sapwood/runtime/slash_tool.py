"""The `slash` tool: how a model controls its own context and its children.

Generated from the registry. Each call is given under an id made of the call itself, so that one
that is run again after a crash acts once and answers the same.
"""

import json
import re

import msgspec
from msgspec import Struct

from sapwood.core.calling import ToolOutcome, ToolSpec
from sapwood.core.commands import Command, DeferCompact, ReadMail, Rewind
from sapwood.core.content import ToolCall
from sapwood.core.events import Actor
from sapwood.core.ids import AgentId, Space
from sapwood.core.refusals import BadArguments, HumanOnly, Refusal, UnknownCommand, nearest
from sapwood.core.searching import text_of
from sapwood.core.shortening import excerpt
from sapwood.core.slash import BY_NAME, Fresh, Run, for_models, interpret, names_agent
from sapwood.core.state import State
from sapwood.runtime.dispatch import Dispatcher
from sapwood.runtime.finding import find_agent
from sapwood.runtime.fresh import given, new_agent_id, new_mail_id
from sapwood.runtime.log import Log
from sapwood.runtime.waiting import Parked, wait_for

__all__ = ["SLASH", "SlashTool", "slash_spec", "waits"]

_PLACE = re.compile(r"(?P<agent>[\w.-]+):(?P<version>\d+)(?::(?P<first>\d+))?")


class _Arguments(Struct):
    command: str
    args: str = ""


def slash_spec() -> ToolSpec:
    """The tool as a model is offered it."""
    commands = for_models()
    lines = "\n".join(f"{c.line[1:]}: {c.help}" for c in commands)
    schema = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": [c.name for c in commands]},
            "args": {"type": "string", "description": "Arguments, as they would be typed"},
        },
        "required": ["command"],
        "additionalProperties": False,
    }
    return ToolSpec(
        "slash", f"Control your context and your child agents.\n{lines}", json.dumps(schema)
    )


SLASH = "slash"


class SlashTool:
    """Runs slash commands on behalf of a model."""

    def __init__(self, log: Log, space: Space, dispatcher: Dispatcher) -> None:
        self._log = log
        self._space = space
        self._dispatcher = dispatcher

    async def run(self, state: State, call: ToolCall, model: str) -> ToolOutcome | Parked:
        """What came of the call, or how long it has to wait."""
        try:
            arguments = msgspec.json.decode(call.args, type=_Arguments)
        except msgspec.MsgspecError as wrong:
            return ToolOutcome(f"The arguments do not fit the tool: {wrong}.", error=True)
        run = _allowed(arguments)
        if isinstance(run, Refusal):
            return ToolOutcome(run.sentence, error=True)
        if run.command.name == "wait":
            return await wait_for(self._log, self._space, state, call, run.args)
        if run.command.name == "recall":
            return await self._recall(state.agent, run.args)
        return await self._command(state, call, run, model)

    async def _command(self, state: State, call: ToolCall, run: Run, model: str) -> ToolOutcome:
        command = await self._interpreted(state, run)
        if command is None:
            return ToolOutcome(f"{run.command.line} cannot be used here.", error=True)
        if isinstance(command, Refusal):
            return ToolOutcome(command.sentence, error=True)
        turn = state.open.first if state.open else 0
        once = given(Actor("model", model), call=call.id, command=f"{state.agent}:{turn}:{call.id}")
        done = await self._dispatcher.dispatch(command, once)
        if isinstance(done, Refusal):
            return ToolOutcome(done.sentence, error=True)
        return ToolOutcome(done.says or "Done.")

    async def _interpreted(self, state: State, run: Run) -> Command | Refusal | None:
        agent, words = state.agent, run.args.split()
        match run.command.name, words:
            case "check-mail", []:
                return ReadMail(agent, "tool")
            case "clear", [mark, _, *_]:
                return Rewind(agent, mark, run.args.removeprefix(mark).strip())
            case "compact", _:
                return _compact(agent, run, words)
            case _:
                pass
        typed = names_agent(run)
        other: AgentId | Refusal | None = None
        if typed:
            other = await find_agent(self._log, self._space, typed, parent=state.parent)
        if isinstance(other, Refusal):
            return other
        return interpret(run, agent, Fresh(new_agent_id(), new_mail_id()), other=other)

    async def _recall(self, agent: AgentId, query: str) -> ToolOutcome:
        """Searches what this agent and its descendants said, or shows one place whole."""
        own = [agent, *await self._log.descendants(self._space, agent)]
        own += await self._log.ancestors(self._space, agent)
        place = _PLACE.fullmatch(query.strip())
        if place and place["agent"] in own:
            return await self._shown(AgentId(place["agent"]), int(place["version"]), place["first"])
        hits = await self._log.search(self._space, query, agents=own, limit=8)
        lines = [f"{hit.ref}: {hit.snippet}" for hit in hits]
        return ToolOutcome("\n".join(lines) or "Nothing was found.")

    async def _shown(self, agent: AgentId, version: int, first: str | None) -> ToolOutcome:
        """What stands at a place, from a character on; a long text in several calls."""
        found = await self._log.read(self._space, agent, version, version)
        text = text_of(found[0].event) if found else ""
        shown = excerpt(text, f"{agent}:{version}", int(first or 0))
        if not shown:
            where = f" from character {int(first):,} on" if first else ""
            return ToolOutcome(f"Nothing stands at {agent}:{version}{where}.", error=True)
        return ToolOutcome(shown)


def _compact(agent: AgentId, run: Run, words: list[str]) -> Command | Refusal:
    match words:
        case []:
            return DeferCompact(agent)
        case ["--keep", keep] if keep.isdecimal():
            return DeferCompact(agent, int(keep))
        case _:
            return BadArguments(run.command.line, "Only a number of turns to keep can be given.")


def waits(call: ToolCall) -> bool:
    """Whether the call is a wait, whose start has to be in the log."""
    try:
        return msgspec.json.decode(call.args, type=_Arguments).command == "wait"
    except msgspec.MsgspecError:
        return False


def _allowed(arguments: _Arguments) -> Run | Refusal:
    word = arguments.command.removeprefix("/")
    command = BY_NAME.get(word)
    offered = [each.name for each in for_models()]
    if command is None:
        return UnknownCommand(f"/{word}", nearest(word, offered))
    if command.name not in offered:
        return HumanOnly(f"/{command.name}")
    return Run(command, arguments.args.strip())
