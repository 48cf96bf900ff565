"""The `slash` tool: how a model controls its own context and its children.

The table says what the tool offers, and the conversation service carries it out. Each call acts
under an id made of the call itself: one that is run again after a crash acts once and answers the
same.
"""

import json

import msgspec
from msgspec import Struct

from sapwood.conversation.answers import ArgumentNeeded, StillWaiting
from sapwood.conversation.call import ModelCall
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE, SlashCommand
from sapwood.core.content import ToolCall
from sapwood.core.model_calls import ToolOutcome, ToolSpec
from sapwood.core.refusals import BudgetReached, HumanOnly, Refusal, UnknownCommand, nearest
from sapwood.core.state import State
from sapwood.turns.tool_calls import SLASH as SLASH
from sapwood.turns.tool_calls import WaitingCall


class _Arguments(Struct):
    command: str
    args: str | None = None


def slash_spec() -> ToolSpec:
    """The tool as a model is offered it: the rows of the table that models may use."""
    rows = TABLE.for_models
    lines = "\n".join(f"{row.model_line}: {row.help}" for row in rows)
    schema = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": [row.name for row in rows]},
            "args": {"type": "string", "description": "Arguments, as they would be typed"},
        },
        "required": ["command"],
        "additionalProperties": False,
    }
    description = f"Control your context and your child agents.\n{lines}"
    return ToolSpec(SLASH, description, json.dumps(schema))


class ModelCommandTool:
    """Carries out slash commands for models.

    With `parks`, a wait that cannot end yet is returned as `WaitingCall`; without it, the call
    takes as long as the wait.
    """

    def __init__(self, service: ConversationService, *, parks: bool = True) -> None:
        self._service = service
        self._parks = parks

    def spec(self) -> ToolSpec:
        """The tool as a model is offered it."""
        return slash_spec()

    def waits(self, call: ToolCall) -> bool:
        """Whether the call may have to wait, so that its start has to be in the log."""
        arguments = _arguments(call)
        if isinstance(arguments, ToolOutcome):
            return False
        row = _row(arguments.command)
        return not isinstance(row, Refusal) and row.waits

    async def run(self, state: State, call: ToolCall, model: str) -> ToolOutcome | WaitingCall:
        """The result of the call, or how long it has to wait."""
        arguments = _arguments(call)
        if isinstance(arguments, ToolOutcome):
            return arguments
        row = _row(arguments.command)
        if isinstance(row, Refusal):
            return ToolOutcome(row.for_model, error=True)
        run = CommandStep(row, (arguments.args or "").strip())
        caller = ModelCall(state, call, model, self._parks)
        answer = await self._service.answer(state.agent, run, caller=caller)
        if isinstance(answer, StillWaiting):
            return WaitingCall(answer.seconds)
        if isinstance(answer, Refusal):
            reached = answer if isinstance(answer, BudgetReached) else None
            return ToolOutcome(answer.for_model, error=True, reached=reached)
        if isinstance(answer, ArgumentNeeded):
            return ToolOutcome(answer.message, error=True)
        return ToolOutcome(answer.message or "Done.")


def _arguments(call: ToolCall) -> _Arguments | ToolOutcome:
    """The arguments of the call, or the result that says what is wrong with them."""
    try:
        return msgspec.json.decode(call.args, type=_Arguments)
    except msgspec.MsgspecError as wrong:
        return ToolOutcome(f"The arguments do not fit the tool: {wrong}.", error=True)
    except (UnicodeEncodeError, RecursionError):
        return ToolOutcome("The arguments are not valid JSON text. Send them again.", error=True)


def _row(word: str) -> SlashCommand | Refusal:
    name = word.removeprefix("/")
    row = TABLE.get(name)
    if row is None:
        return UnknownCommand(f"/{name}", nearest(name, [each.name for each in TABLE.for_models]))
    return row if row.who == "both" else HumanOnly(row.typed)
