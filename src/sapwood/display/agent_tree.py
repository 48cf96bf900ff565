"""The tree of agents as lines, with the state of each agent."""

from collections.abc import Iterable, Iterator, Sequence

from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary


def state_of(summary: AgentSummary) -> str:
    """Returns the state of an agent; for an imported one, the program it comes from."""
    if summary.status != "running":
        return summary.status
    if summary.source:
        return summary.source
    if summary.asking:
        return "waiting for approval"
    return "working" if summary.working else "idle"


def tree(agents: Iterable[AgentSummary]) -> Iterator[tuple[AgentSummary, int]]:
    """Yields each agent after its parent, with its depth, which is 0 without a listed parent."""
    agents = list(agents)
    here = {summary.agent for summary in agents}
    children: dict[AgentId | None, list[AgentSummary]] = {}
    for summary in agents:
        above = summary.parent if summary.parent in here else None
        children.setdefault(above, []).append(summary)
    waiting = [(summary, 0) for summary in reversed(children.get(None, []))]
    while waiting:
        summary, depth = waiting.pop()
        yield summary, depth
        waiting += [(child, depth + 1) for child in reversed(children.get(summary.agent, []))]


def branches(depths: Sequence[int]) -> list[str]:
    """Returns the lines to draw in front of each row of a tree, given the depths of the rows.

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
