"""The list of agents, children under their parents."""

from collections.abc import Iterable, Iterator

from sapwood.cli.display.table import table
from sapwood.cli.display.text import one_line
from sapwood.cli.display.times import ago
from sapwood.core.counting import Count, show
from sapwood.core.ids import AgentId
from sapwood.core.log import Facts

__all__ = ["agents_table", "state_of"]

_HEADS = ("AGENT", "NAME", "STATE", "TOKENS", "MAIL", "MODEL", "ACTIVE")


def agents_table(agents: Iterable[Facts], width: int, now: int) -> list[str]:
    """The agents as lines."""
    rows = [_row(facts, depth, now) for facts, depth in _tree(list(agents))]
    return table(_HEADS, rows, width)


def state_of(facts: Facts) -> str:
    """What the agent is doing."""
    if facts.status != "running":
        return facts.status
    return "working" if facts.working else "idle"


def _row(facts: Facts, depth: int, now: int) -> tuple[str, ...]:
    return (
        "  " * depth + facts.agent,
        one_line(facts.name),
        state_of(facts),
        show(Count(facts.tokens, facts.exact)),
        f"{facts.unread} new" if facts.unread else "",
        one_line(facts.model),
        ago(facts.updated, now),
    )


def _tree(agents: list[Facts]) -> Iterator[tuple[Facts, int]]:
    """Each agent after its parent, with its depth; without a parent here it is a root."""
    here = {facts.agent for facts in agents}
    children: dict[AgentId | None, list[Facts]] = {}
    for facts in agents:
        above = facts.parent if facts.parent in here else None
        children.setdefault(above, []).append(facts)
    waiting = [(facts, 0) for facts in reversed(children.get(None, []))]
    while waiting:
        facts, depth = waiting.pop()
        yield facts, depth
        waiting += [(child, depth + 1) for child in reversed(children.get(facts.agent, []))]
