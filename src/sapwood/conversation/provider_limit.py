"""The limit of a provider at which a turn failed, and when it resets."""

from sapwood.conversation.call import OpenSpace
from sapwood.conversation.script import CommandStep, Script
from sapwood.core.command_table import TABLE
from sapwood.core.events import TurnFailed
from sapwood.turns.open_agent import OpenAgent

_MAX_WAIT = 24 * 3_600 * 1_000_000
"""Microseconds to wait for the limit of a provider at most."""


def resets_soon(retry_at: int, now: int) -> bool:
    """Whether a turn that failed is asked again by itself when the limit of its provider resets.

    >>> [resets_soon(at, now=1_000) for at in (0, 1_000, 2_000, 10**12)]
    [False, False, True, False]
    """
    return 0 < retry_at - now < _MAX_WAIT


async def limit_reset(space: OpenSpace, opened: OpenAgent) -> int:
    """When the limit of a provider resets at which the last turn failed, also if that is past.

    Returns 0 if the turn did not fail at a limit.
    """
    agent = opened.state.agent
    last = opened.live.turns[-1] if opened.live.turns else None
    if last is None or last.status != "failed" or last.agent != agent:
        return 0
    ends = await space.log.read(space.space, agent, last.last, last.last)
    return next((each.event.retry_at for each in ends if isinstance(each.event, TurnFailed)), 0)


def changes_model(script: Script) -> bool:
    """Whether one of the steps chooses a model: another one can have no such limit."""
    return any(isinstance(step, CommandStep) and step.command is TABLE["model"] for step in script)
