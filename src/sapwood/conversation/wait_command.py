"""`/wait`: ends when mail arrives, when agents are idle, or when its time is up.

One rule for people and models. A person's wait looks again until it ends. A model's wait looks once
and is parked: the call stays open in the log, and the runtime looks again when the agent is woken.
"""

import asyncio

from msgspec import Struct

from sapwood.conversation.agent_lookup import find, find_for_model
from sapwood.conversation.answers import StillWaiting, Waited
from sapwood.conversation.call import Call, ModelCall, OpenSpace
from sapwood.core.events import ToolStarted
from sapwood.core.ids import AgentId
from sapwood.turns.clock_and_ids import now

LONGEST = 3600.0
"""Seconds that a wait lasts at most."""

_USUAL = 60.0
"""Seconds that a model's wait lasts without a number."""

_LOOK_AGAIN = 5.0
_GLANCE = 0.2


class _Wait(Struct, frozen=True):
    agent: AgentId
    agents: tuple[AgentId, ...]
    seconds: float


async def wait(call: Call) -> Waited | StillWaiting:
    """Waits for mail, or for the named agents; a person waits for all descendants by default."""
    if isinstance(call.caller, ModelCall) and call.caller.parks:
        return await _look_for_model(call, call.caller)
    names, seconds = _parsed(call.words, _USUAL if call.by_model else LONGEST)
    space, agent = call.space, call.agent
    caller = call.caller
    if isinstance(caller, ModelCall):
        agents = [await find_for_model(space, caller.state, name) for name in names]
    else:
        agents = [await find(space, name) for name in names]
    agents = agents or await space.log.descendants(space.space, agent)
    wanted = _Wait(agent, tuple(agents), seconds)
    until = asyncio.get_running_loop().time() + seconds
    while True:
        over = await _look(space, wanted, until - asyncio.get_running_loop().time())
        if isinstance(over, Waited):
            return over
        if not agents:
            return Waited(agent, "nobody", "There is nobody to wait for.")
        await asyncio.sleep(min(_GLANCE, over.seconds))


async def _look_for_model(call: Call, caller: ModelCall) -> Waited | StillWaiting:
    names, seconds = _parsed(call.words, _USUAL)
    space, state = call.space, caller.state
    agents = [await find_for_model(space, state, name) for name in names]
    if not names:
        children = await space.log.agents(space.space, parent=state.agent, status="running")
        agents = [each.agent for each in children]
    left = seconds - await _waited(space, caller)
    return await _look(space, _Wait(state.agent, tuple(agents), seconds), left)


async def _look(space: OpenSpace, wanted: _Wait, left: float) -> Waited | StillWaiting:
    """Whether the wait is over with so many seconds left, and what ended it."""
    agent, agents = wanted.agent, wanted.agents
    facts = [await space.log.facts(space.space, each) for each in agents]
    own = await space.log.facts(space.space, agent)  # last: a child that has ended has sent mail
    if own is not None and own.unread:
        count = own.unread
        return Waited(agent, "mail", f"Mail has arrived: {count} unread. check-mail reads it.")
    busy = [each.agent for each in facts if each is not None and each.working]
    if agents and not busy:
        return Waited(agent, "idle", f"Idle: {', '.join(agents)}.")
    if left <= 0:
        still = f" Still working: {', '.join(busy)}." if busy else ""
        return Waited(agent, "time", f"No mail arrived within {wanted.seconds:g} seconds.{still}")
    return StillWaiting(agent, min(left, _LOOK_AGAIN))


def _parsed(words: list[str], usual: float) -> tuple[list[str], float]:
    if words and words[-1].replace(".", "", 1).isdecimal():
        return words[:-1], min(float(words[-1]), LONGEST)
    return words, usual


async def _waited(space: OpenSpace, caller: ModelCall) -> float:
    """Seconds since the tool call was started, by the log."""
    state = caller.state
    first = state.open.first if state.open else 1
    for recorded in await space.log.read(space.space, state.agent, first):
        if isinstance(recorded.event, ToolStarted) and recorded.event.call == caller.call.id:
            return (now() - recorded.at) / 1_000_000
    return 0.0
