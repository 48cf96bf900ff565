"""Goals: after each turn a check runs, and the model continues until it passes or a budget ends.

The goal is in the log, and each of its turns is opened by a command whose id is made from it. So a
killed process loses nothing, and two screens open one turn.

A check runs with the rights of the person who typed it. Others can write to a log, so the check is
also kept in a private file of this machine, and runs only if the two are the same.
"""

import asyncio
from contextlib import suppress
from pathlib import Path

from sapwood.config.folders import data_folder
from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.call import OpenSpace, Prompter, Services
from sapwood.conversation.person_shell import run_in_workspace
from sapwood.conversation.provider_limit import limit_reset
from sapwood.core.commands import EndGoal
from sapwood.core.content import Text
from sapwood.core.errors import SapwoodError
from sapwood.core.events import GoalEnd, GoalEnded, GoalSet
from sapwood.core.history_size import calibrated, turn_sizes
from sapwood.core.ids import AgentId
from sapwood.core.plural import counted
from sapwood.core.refusals import CheckNotHere, Refusal
from sapwood.core.state import Goal, State
from sapwood.core.token_count import show
from sapwood.core.turn import Turn
from sapwood.private_files import replace_file
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.open_agent import OpenAgent
from sapwood.workspace.tool_output import ToolError

REACHED = "GOAL REACHED"
"""The last line of an answer, by which a model says that a goal without a check is reached."""

_SHOWN_OUTPUT = 4_000
_PAGE = 1_000


async def next_step(
    services: Services, agent: AgentId, prompt: Prompter, *, is_asked: bool = False
) -> Prompted | Changed | Refusal | None:
    """Opens the next turn of the goal, or ends it; None if nothing is to do now.

    Only a process of the person does it, while no turn is open. After a turn that was interrupted
    or failed, nothing is done before the next one that is answered, unless the person has just
    asked for it. Raises `Failure`.
    """
    opened = await services.space.dispatcher.open(agent)
    goal, last = opened.state.goal, _last_turn(opened)
    if goal is None or opened.state.open is not None or not services.on_this_machine:
        return None
    if goal.opened == 0:
        return await _ask(agent, goal, _first_prompt(goal), prompt)
    if last is None or (last.status != "completed" and not is_asked):
        return None
    output = ""
    if goal.check:
        if not await asyncio.to_thread(is_own_check, goal):
            return CheckNotHere(goal.check)
        output, is_reached = await _checked(services, opened.state, goal)
    else:
        is_reached = last.answer.rstrip().endswith(REACHED)
    opened = await services.space.dispatcher.open(agent)
    if opened.state.goal != goal or opened.state.open is not None:  # a person was faster
        return None
    if is_reached:
        return await end_goal(services, opened, "reached")
    if is_spent(goal):
        return await end_goal(services, opened, "budget")
    return await _ask(agent, goal, _next_prompt(goal, output), prompt)


async def end_goal(services: Services, opened: OpenAgent, reason: GoalEnd) -> Changed | Refusal:
    """Ends the goal, and says which of its turns can leave view and by which command."""
    goal = opened.state.goal
    assert goal is not None
    command = EndGoal(opened.state.agent, goal.id, reason, _what_can_leave(services, opened, goal))
    done = await services.space.dispatcher.dispatch(command, command_meta())
    if isinstance(done, Refusal):
        return done
    if reason == "budget":  # its check is needed again if it gets more
        return Changed(opened.state.agent, done.message, done.events)
    with suppress(OSError):
        await asyncio.to_thread(_file_of(goal.id).unlink)
    return Changed(opened.state.agent, done.message, done.events)


def keep_check(goal: str, check: str) -> None:
    """Keeps the check that a person typed on this machine. Raises `SapwoodError`."""
    path = _file_of(goal)
    try:
        replace_file(path, check)
    except OSError as error:
        raise SapwoodError(
            f"The check could not be written to {path.parent}: {error.strerror or error}. "
            "The goal was not set."
        ) from error


async def last_goal(space: OpenSpace, agent: AgentId) -> Goal | None:
    """The goal that was set last, also if it has ended; None if there was none."""
    last: int | None = None
    while last != 0:
        page = await space.log.read(space.space, agent, 1, last, limit=_PAGE, backward=True)
        for each in page:
            if isinstance(each.event, GoalSet):
                return Goal(each.event.goal, each.event.text, each.event.check)
        last = page[-1].version - 1 if page else 0
    return None


async def goal_end_of(space: OpenSpace, agent: AgentId, goal: str) -> GoalEnd | None:
    """Why this goal ended; None if it did not."""
    last: int | None = None
    while last != 0:
        page = await space.log.read(space.space, agent, 1, last, limit=_PAGE, backward=True)
        for each in page:
            if isinstance(each.event, GoalEnded) and each.event.goal == goal:
                return each.event.reason
            if isinstance(each.event, GoalSet) and each.event.goal == goal:
                return None
        last = page[-1].version - 1 if page else 0
    return None


def is_spent(goal: Goal) -> bool:
    """Whether the budget of the goal has ended."""
    tokens = goal.used.input + goal.used.output
    return (
        (goal.turns > 0 and goal.opened >= goal.turns)
        or (goal.tokens > 0 and tokens >= goal.tokens)
        or (goal.cost > 0 and goal.used.cost >= goal.cost)
    )


async def failed_at_limit(space: OpenSpace, opened: OpenAgent) -> bool:
    """Whether the last turn is one of the goal and failed at the limit of a provider."""
    goal, last = opened.state.goal, _last_turn(opened)
    if goal is None or last is None or opened.state.open is not None or not _is_of(goal, last):
        return False
    return await limit_reset(space, opened) > 0


def _file_of(goal: str) -> Path:
    return data_folder() / "goals" / "".join(char for char in goal if char.isalnum())


def is_own_check(goal: Goal) -> bool:
    """Whether a person typed the check of the goal on this machine."""
    try:
        return _file_of(goal.id).read_text(encoding="utf-8") == goal.check
    except (OSError, ValueError):
        return False


async def _checked(services: Services, state: State, goal: Goal) -> tuple[str, bool]:
    """The output of the check, and whether it passed."""
    try:
        result = await run_in_workspace(services.workspace_of(state), goal.check)
    except ToolError as error:
        return str(error), False
    return services.space.masked(result.text), not result.failed


async def _ask(agent: AgentId, goal: Goal, text: str, prompt: Prompter) -> Prompted | Refusal:
    once = goal.next_command
    return await prompt(agent, (Text(text),), command_id=once, request=once)


def _first_prompt(goal: Goal) -> str:
    if goal.check:
        how = f"After each of your turns this check runs, and has to pass: `{goal.check}`"
    else:
        how = f"When it is reached, end your answer with the line {REACHED}."
    return f"{goal.text}\n\nThis is a goal: work until it is reached. {how}"


def _next_prompt(goal: Goal, output: str) -> str:
    if not goal.check:
        return _go_on(goal)
    shown = output if len(output) <= _SHOWN_OUTPUT else f"[…]\n{output[-_SHOWN_OUTPUT:]}"
    return f"{_go_on(goal)}\n\n{shown}"


def _go_on(goal: Goal) -> str:
    """How each prompt after the first one begins."""
    if goal.check:
        return f"The goal is not reached: the check `{goal.check}` failed. Continue."
    return f"Continue. When the goal is reached, end your answer with the line {REACHED}."


def _is_of(goal: Goal, turn: Turn) -> bool:
    """Whether the goal opened the turn, and not a prompt of the person in between."""
    texts = [part.text for part in turn.prompt if isinstance(part, Text)]
    return any(text.startswith((_first_prompt(goal), _go_on(goal))) for text in texts)


def _last_turn(opened: OpenAgent) -> Turn | None:
    return opened.live.turns[-1] if opened.live.turns else None


def _what_can_leave(services: Services, opened: OpenAgent, goal: Goal) -> str:
    """The turns of the goal but the last, their tokens, and the command that drops them."""
    state, live = opened.state, opened.live
    counter = services.space.counter_for(state.settings.model)
    own = [
        (turn.number, size)
        for turn, size in zip(live.turns, turn_sizes(live, counter), strict=True)
        if turn.agent == state.agent and turn.number > goal.first and _is_of(goal, turn)
    ]
    took = f"It took {counted(goal.opened, 'turn')}."
    if len(own) < 2:
        return took
    place = " ".join(_spans([number for number, _ in own[:-1]]))
    freed = calibrated(sum(size for _, size in own[:-1]), counter, state.ratio())
    return (
        f"{took} To keep only the last in view and free {show(freed)} tokens, type: /drop {place}"
    )


def _spans(numbers: list[int]) -> list[str]:
    """Ascending numbers as they are typed: 1, 2, 3, 7 as 1-3 and 7."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return [str(first) if first == last else f"{first}-{last}" for first, last in spans]
