"""Events, agents and usage as values for JSON, the same in every face."""

import msgspec
from msgspec import Struct

from sapwood.core.content import Usage
from sapwood.core.events import Recorded, UnreadableEvent
from sapwood.core.log_values import AgentSummary
from sapwood.display.agent_tree import state_of
from sapwood.display.quantities import iso

_TIMES = ("created", "updated", "at")


def usage_value(usage: Usage) -> dict[str, object]:
    """Returns a usage with its cost in dollars.

    >>> usage_value(Usage(input=2_000, output=100, cost=420))["cost_usd"]
    0.00042
    """
    value = msgspec.structs.asdict(usage)
    cost = value.pop("cost")
    return {**value, "cost_usd": cost / 1_000_000}


def listed_value(listed: Struct) -> dict[str, object]:
    """Returns an entry of a list with ISO times. A running agent without work to do is `idle`.

    One whose tool call waits for approval is `waiting for approval`.
    """
    value: dict[str, object] = msgspec.to_builtins(listed)
    for name in _TIMES:
        if isinstance(at := getattr(listed, name, None), int):
            value[name] = iso(at)
    if isinstance(listed, AgentSummary):
        idle = listed.status == "running" and not listed.working
        value["status"] = state_of(listed) if listed.asking else "idle" if idle else listed.status
    return value


def event_value(recorded: Recorded) -> dict[str, object]:
    """Returns an event with its envelope. The reference of events lists the fields of `data`.

    Of an event that cannot be read, `unreadable` is true.
    """
    unreadable = {"unreadable": True} if isinstance(recorded.event, UnreadableEvent) else {}
    return {
        "agent": recorded.agent,
        "version": recorded.version,
        "kind": recorded.kind,
        "at": recorded.when,
        "actor": str(recorded.actor),
        "data": recorded.event,
        "command": recorded.command,
        **unreadable,
    }
