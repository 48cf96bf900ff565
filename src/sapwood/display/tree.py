"""Agents as a tree, and what each is doing."""

from collections.abc import Iterable, Iterator, Sequence

from sapwood.core.ids import AgentId
from sapwood.core.log import Facts

__all__ = ["branches", "state_of", "tree"]


def state_of(facts: Facts) -> str:
    """What the agent is doing; of an imported one, where."""
    if facts.status != "running":
        return facts.status
    if facts.source:
        return facts.source
    return "working" if facts.working else "idle"


def tree(agents: Iterable[Facts]) -> Iterator[tuple[Facts, int]]:
    """Each agent after its parent, with its depth; without a parent here it is a root."""
    agents = list(agents)
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


def branches(depths: Sequence[int]) -> list[str]:
    """What to draw before each line of a tree, given how deep each is.

    >>> branches([0, 1, 2, 1, 0])
    ['', '├ ', '│ └ ', '└ ', '']
    """
    drawn: list[str] = []
    goes_on: set[int] = set()
    for depth in reversed(depths):
        goes_on = {level for level in goes_on if level <= depth}
        if depth:
            above = "".join("│ " if level in goes_on else "  " for level in range(1, depth))
            drawn.append(above + ("├ " if depth in goes_on else "└ "))
        else:
            drawn.append("")
        goes_on.add(depth)
    return drawn[::-1]
