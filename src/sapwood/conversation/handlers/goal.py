"""The handler of `/goal`."""

import asyncio
import re

from msgspec import structs

from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.call import Call
from sapwood.conversation.goals import (
    end_goal,
    failed_at_limit,
    goal_end_of,
    is_own_check,
    keep_check,
    last_goal,
    next_step,
)
from sapwood.conversation.handlers.context import RETRY_STEP, retry
from sapwood.core.commands import SetGoal, SetMark
from sapwood.core.errors import RefusedError, accepted
from sapwood.core.refusals import CheckNotHere, GoalNotHere, Refusal, TurnIsOpen
from sapwood.core.state import Goal
from sapwood.turns.clock_and_ids import new_nonce

CONTINUE = "continue"
"""The argument that continues a goal of an earlier process."""

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
    """Sets a goal and opens its first turn, shows, continues or ends it. Raises `RefusedError`."""
    opened = await call.opened()
    if not call.run.args:
        shown = _shown(opened.state.goal) if opened.state.goal else await _no_goal(call)
        return Changed(call.agent, shown)
    if call.run.args == "stop":
        if opened.state.goal is None:
            return Changed(call.agent, "There is no goal.")
        return accepted(await end_goal(call.services, opened, "stopped"))
    if not call.services.on_this_machine:
        raise RefusedError(GoalNotHere())
    assert call.prompt is not None
    if call.run.args == CONTINUE:
        opened = await call.opened_before(RETRY_STEP)
        if opened.state.goal is None:
            return Changed(call.agent, await _no_goal(call))
        if await failed_at_limit(call.space, opened):
            return await retry(call)  # the turn counted when it was opened first
        step = await next_step(call.services, call.agent, call.prompt, is_asked=True)
        if isinstance(step, Refusal) and not isinstance(step, TurnIsOpen):
            raise RefusedError(step)
        goes_on = Changed(call.agent, "The goal continues when this turn has ended.")
        return goes_on if step is None or isinstance(step, Refusal) else step
    if call.services.models is not None:
        call.services.models.require(opened.state.settings.model)
    parsed = _parsed(call)
    command = parsed if parsed.text else await _renewed(call, parsed)
    if command.check:
        await asyncio.to_thread(keep_check, command.goal, command.check)
    if parsed.text:
        await call.give_step(SetMark(call.agent, _MARK), "mark")
    done = await call.give(command)
    step = accepted(await next_step(call.services, call.agent, call.prompt))
    return step or Changed(call.agent, done.message, done.events)


def _shown(set_to: Goal) -> str:
    """The goal, its check and its budget, as a person reads it."""
    check = f" Check: {set_to.check}." if set_to.check else ""
    text = set_to.text.rstrip(".")
    return (
        f"Goal: {text}.{check} Used: {set_to.progress}. To continue it after a restart, type: "
        "/goal continue. To end it, type: /goal stop"
    )


async def _no_goal(call: Call) -> str:
    """That there is no goal, or which one has ended and how it gets more."""
    last = await last_goal(call.space, call.agent)
    if last is None:
        return "There is no goal. To set one, type: /goal TEXT --check COMMAND"
    text, again = last.text.rstrip("."), "To work on it again, type: /goal --budget 10"
    if await goal_end_of(call.space, call.agent, last.id) == "reached":
        how = "its check passed" if last.check else "the model said so"
        return f"The goal is reached: {how}. It was: {text}. {again}"
    return f"The goal has ended: {text}. {again}"


async def _renewed(call: Call, parsed: SetGoal) -> SetGoal:
    """The command that sets the last goal again, with the budget and the check that were typed.

    Raises `RefusedError` if there is none, or if its check was not typed on this machine.
    """
    last = await last_goal(call.space, call.agent)
    if last is None:
        raise call.misused("Which goal?")
    if not parsed.check and last.check and not await asyncio.to_thread(is_own_check, last):
        raise RefusedError(CheckNotHere(last.check))
    return structs.replace(parsed, text=last.text, check=parsed.check or last.check)


def _parsed(call: Call) -> SetGoal:
    """The command, without a text if only options were typed.

    An option ends at the next one, or has quotes around it.
    """
    options = {name: _unquoted(value) for name, value in _OPTION.findall(call.run.args)}
    text = _OPTION.sub("", call.run.args).strip()
    if _BARE.search(text) or not (text or options):
        raise call.misused(f"--check needs a command, and --budget a number: {_BUDGETS}.")
    command = SetGoal(call.agent, new_nonce(), text, options.get("check", ""))
    if "budget" not in options:
        return structs.replace(command, turns=_TURNS)
    found = _BUDGET.fullmatch(options["budget"])
    number = float(found[2]) if found else 0.0
    is_part = found and not found[1] and not found[3] and not number.is_integer()
    if found is None or (found[1] and found[3]) or not number or is_part:
        raise call.misused(f"Give the budget as {_BUDGETS}.")
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
