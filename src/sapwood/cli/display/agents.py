"""The list of agents, children under their parents."""

from collections.abc import Iterable

from sapwood.cli.display.table import table
from sapwood.core.counting import Count, show
from sapwood.core.log import Facts
from sapwood.display.text import one_line
from sapwood.display.times import ago
from sapwood.display.tree import state_of, tree

__all__ = ["agents_table"]

_HEADS = ("AGENT", "NAME", "STATE", "TOKENS", "MAIL", "MODEL", "ACTIVE")


def agents_table(agents: Iterable[Facts], width: int, now: int) -> list[str]:
    """The agents as lines."""
    rows = [_row(facts, depth, now) for facts, depth in tree(agents)]
    return table(_HEADS, rows, width)


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
