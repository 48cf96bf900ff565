"""Events, agents and usage as values for JSON, the same in every face."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from sapwood.core.content import Usage
from sapwood.core.events import Recorded, UnreadableEvent
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary, SearchHit
from sapwood.display.quantities import iso


def usage_value(usage: Usage) -> dict[str, object]:
    """Returns a usage with its cost in dollars.

    >>> usage_value(Usage(input=2_000, output=100, cost=420))["cost_usd"]
    0.00042
    """
    value = msgspec.structs.asdict(usage)
    cost = value.pop("cost")
    return {**value, "cost_usd": cost / 1_000_000}


class AgentValue(Struct, frozen=True):
    """What lists show of an agent. A running agent without work to do is `idle`.

    One whose tool call waits for approval is `waiting for approval`. `tokens` is the size of the
    live history, and `exact` whether it was counted or estimated. `source` and `session` are the
    program of an imported agent and its id there. Times are ISO 8601, in UTC.
    """

    agent: AgentId
    version: int
    status: Literal["idle", "running", "waiting for approval", "archived", "killed"]
    name: str
    parent: AgentId | None
    model: str
    folder: str
    created: str
    updated: str
    tokens: int
    exact: bool
    unread: int
    working: bool
    source: str
    session: str
    asking: bool
    worktree: str
    branch: str
    owner: str
    labels: tuple[str, ...]
    metadata: dict[str, str]


def agent_value(summary: AgentSummary) -> AgentValue:
    """Returns what lists show of an agent."""
    values: dict[str, Any] = {name: getattr(summary, name) for name in AgentValue.__struct_fields__}
    values |= {name: iso(values[name]) for name in ("created", "updated")}
    if summary.status == "running":
        working = "running" if summary.working else "idle"
        values["status"] = "waiting for approval" if summary.asking else working
    return AgentValue(**values)


def hit_value(hit: SearchHit) -> dict[str, object]:
    """Returns a search hit with an ISO time."""
    return {**msgspec.to_builtins(hit), "at": iso(hit.at)}


class EventValue(dict[str, object]):
    """An event with its envelope. The reference of events lists the fields of `data`."""


def event_value(recorded: Recorded) -> EventValue:
    """Returns an event with its envelope. Of one that cannot be read, `unreadable` is true."""
    unreadable = {"unreadable": True} if isinstance(recorded.event, UnreadableEvent) else {}
    return EventValue(
        agent=recorded.agent,
        version=recorded.version,
        kind=recorded.kind,
        at=recorded.when,
        actor=str(recorded.actor),
        data=recorded.event,
        command=recorded.command,
        **unreadable,
    )
