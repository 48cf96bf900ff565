"""Carries out what a person sends at once: commands and text, in order.

Stops at the first refusal, so that a script never goes on from where its author did not expect
to be.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct, structs

from sapwood.core.commands import Command, Configure, StartTurn, Succeed
from sapwood.core.content import Text
from sapwood.core.ids import AgentId, Space
from sapwood.core.refusals import Refusal
from sapwood.core.settings import SettingsChange
from sapwood.core.slash import Fresh, Run, Say, Script, interpret, names_agent
from sapwood.runtime.dispatch import Dispatcher, Done
from sapwood.runtime.finding import find_agent
from sapwood.runtime.fresh import given, new_agent_id, new_mail_id
from sapwood.runtime.log import Log

__all__ = ["Outcome", "SwitchModel", "carry_out"]

SwitchModel = Callable[[str, AgentId], Awaitable[SettingsChange | Refusal]]
"""The change of settings that a switch to a model is, or why it cannot be."""


class Outcome(Struct, frozen=True):
    """What came of one step. `done` is None for commands that only a face can answer.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     for outcome in wood.start("demo").submit("/mark START\\n/help"):
    ...         print(outcome.step.command.name, outcome.done and outcome.done.says)
    mark Marked 'START'.
    help None
    """

    step: Say | Run
    done: Done | Refusal | None


async def carry_out(
    log: Log,
    space: Space,
    dispatcher: Dispatcher,
    agent: AgentId,
    script: Script,
    switch: SwitchModel,
) -> list[Outcome]:
    """Carries out a parsed submission, step by step; what follows `/new` is for the new agent.

    A goal is that of every fork up to the next text. Another model is taken only if `switch` says
    that it can be.
    """
    outcomes: list[Outcome] = []
    goal = ""
    for step in script:
        if isinstance(step, Say):
            goal = step.text if step.goal else ""
            if step.goal:
                continue
        command = await _command(log, space, agent, step, goal)
        if isinstance(command, Configure) and command.change.model:
            command = await _switched(command, command.change.model, switch)
        if command is None or isinstance(command, Refusal):
            answer = command
        else:
            answer = await dispatcher.dispatch(command, given())
        if isinstance(command, Succeed) and isinstance(answer, Done):
            agent = command.successor
        outcomes.append(Outcome(step, answer))
        if isinstance(answer, Refusal):
            break
    return outcomes


async def _command(
    log: Log, space: Space, agent: AgentId, step: Say | Run, goal: str
) -> Command | Refusal | None:
    if isinstance(step, Say):
        return StartTurn(agent, (Text(step.text),))
    typed = names_agent(step)
    other = await _other(log, space, agent, typed) if typed else None
    if isinstance(other, Refusal):
        return other
    return interpret(step, agent, Fresh(new_agent_id(), new_mail_id()), goal=goal, other=other)


async def _switched(command: Configure, model: str, switch: SwitchModel) -> Configure | Refusal:
    change = await switch(model, command.agent)
    if isinstance(change, Refusal):
        return change
    both = structs.replace(command.change, **change.given())
    return structs.replace(command, change=both)


async def _other(log: Log, space: Space, agent: AgentId, typed: str) -> AgentId | Refusal:
    own = await log.facts(space, agent)
    return await find_agent(log, space, typed, parent=own.parent if own else None)
