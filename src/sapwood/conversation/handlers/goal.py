"""The handler of `/goal`."""

import asyncio
import re
from typing import TypeVar

from msgspec import structs

from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.call import Call, Person
from sapwood.conversation.goals import budget_text, end_goal, keep_check, next_step
from sapwood.core.commands import SetGoal, SetMark
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import GoalNotHere, Refusal
from sapwood.core.state import State
from sapwood.turns.clock_and_ids import command_meta, new_nonce
from sapwood.turns.dispatch import Done

Answer = TypeVar("Answer", Prompted, Changed, Done)

_MARK = "goal"
_TURNS = 10
"""The most turns of a goal without a budget."""
_BUDGET = re.compile(r"(\$)?(\d{1,9}(?:\.\d{1,6})?)([kKmM])?")
_BUDGETS = "5 (turns), 200k (tokens) or $2"
_BARE = re.compile(r"(?:^|\s)--(?:check|budget)\s*$")
_OPTION = re.compile(
    r"""(?:^|\s)--(check|budget)\s+("(?:[^"\\]|\\.)*"|'[^']*'|(?:(?!\s--(?:check|budget)\s).)+)""",
    re.DOTALL,
)


async def goal(call: Call) -> Prompted | Changed:
    """Sets a goal and opens its first turn, shows the goal, or ends it. Raises `RefusedError`."""
    opened = await call.opened()
    if not call.run.args:
        return Changed(call.agent, shown_goal(opened.state))
    if call.run.args == "stop":
        if opened.state.goal is None:
            return Changed(call.agent, "There is no goal.")
        return _accepted(await end_goal(call.services, opened, "stopped"))
    if not call.services.on_this_machine:
        raise RefusedError(GoalNotHere())
    assert call.prompt is not None
    assert isinstance(call.caller, Person)
    if call.services.models is not None:
        call.services.models.require(opened.state.settings.model)
    command = _parsed(call)
    if command.check:
        await asyncio.to_thread(keep_check, command.goal, command.check)
    once = f"{call.caller.command_id}:mark" if call.caller.command_id else None
    why = command_meta(call.caller.actor, command=once)
    _accepted(await call.space.dispatcher.dispatch(SetMark(call.agent, _MARK), why))
    done = await call.give(command)
    step = await next_step(call.services, call.agent, call.prompt)
    if isinstance(step, Refusal):
        raise RefusedError(step)
    return step or Changed(call.agent, done.message, done.events)


def shown_goal(state: State) -> str:
    """The goal, its check and its budget, as a person reads it."""
    set_to = state.goal
    if set_to is None:
        return "There is no goal. To set one, type: /goal TEXT --check COMMAND"
    check = f" Check: {set_to.check}." if set_to.check else ""
    turns = state.turns - set_to.first
    return (
        f"Goal: {set_to.text}.{check} Turns so far: {turns}; budget: {budget_text(set_to)}. "
        "To end it, type: /goal stop"
    )


def _accepted(answer: Answer | Refusal) -> Answer:
    if isinstance(answer, Refusal):
        raise RefusedError(answer)
    return answer


def _parsed(call: Call) -> SetGoal:
    """The command. An option ends at the next one, or has quotes around it."""
    options = {name: _unquoted(value) for name, value in _OPTION.findall(call.run.args)}
    text = _OPTION.sub("", call.run.args).strip()
    if not text:
        raise call.misused("Which goal?")
    if _BARE.search(text):
        raise call.misused(f"--check needs a command, and --budget a number: {_BUDGETS}.")
    command = SetGoal(call.agent, new_nonce(), text, options.get("check", ""))
    if "budget" not in options:
        return structs.replace(command, turns=_TURNS)
    found = _BUDGET.fullmatch(options["budget"])
    number = float(found[2]) if found else 0.0
    is_part = found and not found[1] and not found[3] and not number.is_integer()
    if found is None or (found[1] and found[3]) or not number or is_part:
        raise call.misused(f"A budget is {_BUDGETS}.")
    if found[1]:
        return structs.replace(command, cost=round(number * 1_000_000))
    if found[3]:
        times = 1_000 if found[3] in "kK" else 1_000_000
        return structs.replace(command, tokens=round(number * times))
    return structs.replace(command, turns=round(number))


def _unquoted(value: str) -> str:
    value = value.strip()
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1].replace('\\"', '"') if is_quoted else value
