"""What the agents of one root have spent and started, and the budgets that limit it.

Every agent counts its own model calls and money in its state, from its log. The account of a root
is the sum over its agents. `sapwood.turns.open_agent` reads it before a model is called or a
model forks, so `decide` stays pure.
"""

from collections.abc import Iterable

from msgspec import Struct

from sapwood.core.ids import AgentId
from sapwood.core.refusals.agents import BudgetReached
from sapwood.core.settings import Settings
from sapwood.core.state import State

_DOLLAR = 1_000_000


class Account(Struct, frozen=True):
    """The account of a root, as one of its agents sees it.

    `cost` is in millionths of a dollar. `agents` are those that run. `depth` is the number of
    levels from the root down to the agent that asks. `limits` are the settings of the root.
    """

    root: AgentId
    limits: Settings
    calls: int = 0
    cost: int = 0
    agents: int = 1
    depth: int = 0


def account_of(states: Iterable[State], agent: AgentId) -> Account:
    """The account of the root of `agent`. `states` include the root and all its descendants.

    An imported conversation spends nothing here, so the agent that continues with it is a root.
    """
    known = {state.agent: state for state in states}
    root, depth = known[agent], 0
    while (above := _parent(root, known)) is not None and above.origin is None:
        root, depth = above, depth + 1
    family = _family(root, known)
    return Account(
        root.agent,
        root.settings,
        sum(state.calls for state in family),
        sum(state.spent.cost for state in family),
        sum(state.status == "running" for state in family),
        depth,
    )


def call_problem(account: Account) -> BudgetReached | None:
    """Why no agent of this root may call a model now; None if it may."""
    limits = account.limits
    if limits.budget_calls and account.calls >= limits.budget_calls:
        return BudgetReached("calls", account.calls, limits.budget_calls)
    if limits.budget_cost and account.cost >= limits.budget_cost * _DOLLAR:
        return BudgetReached("cost", account.cost / _DOLLAR, limits.budget_cost)
    return None


def fork_problem(account: Account, state: State) -> BudgetReached | None:
    """Why the model of this agent may not fork now; None if it may."""
    limits = account.limits
    if limits.budget_depth and account.depth >= limits.budget_depth:
        return BudgetReached("depth", account.depth, limits.budget_depth)
    if limits.budget_agents and account.agents >= limits.budget_agents:
        return BudgetReached("agents", account.agents, limits.budget_agents)
    return restart_problem(limits, state)


def restart_problem(limits: Settings, state: State) -> BudgetReached | None:
    """Why no further turn may start without a human; None if one may."""
    if limits.budget_turns and state.turns_without_human >= limits.budget_turns:
        return BudgetReached("turns", state.turns_without_human, limits.budget_turns)
    return None


def _family(root: State, known: dict[AgentId, State]) -> list[State]:
    """The root and its descendants. Each agent is looked at once, however deep the tree is."""
    below = {root.agent: True}
    for state in known.values():
        path: list[AgentId] = []
        above: State | None = state
        while above is not None and above.agent not in below:
            path.append(above.agent)
            above = _parent(above, known)
        found = above is not None and below[above.agent]
        below.update(dict.fromkeys(path, found))
    return [state for state in known.values() if below[state.agent]]


def _parent(state: State, known: dict[AgentId, State]) -> State | None:
    return known.get(state.parent) if state.parent else None
