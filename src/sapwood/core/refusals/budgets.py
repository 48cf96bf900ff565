"""The refusal to spend or to start more than a budget allows."""

from typing import Literal

from sapwood.core.refusals.refusal import Refusal

BudgetName = Literal["cost", "calls", "depth", "agents", "turns", "turn_calls"]


class BudgetReached(Refusal, frozen=True):
    """A budget is used up. The turn ends, and a person can raise the budget.

    >>> BudgetReached("calls", 5_000, 5_000).sentence
    'Stopped: the agents in this conversation made 5,000 model calls, and the budget is 5,000. To \
continue, type /config budget.calls 10000, then send a prompt.'
    """

    budget: BudgetName
    used: float
    limit: float

    @property
    def sentence(self) -> str:
        what = f"{self._what}, and the budget is {self._shown(self.limit)}"
        return f"Stopped: {what}. To continue, {self._remedy}."

    @property
    def for_model(self) -> str:
        what = f"{self._what}, and the budget is {self._shown(self.limit)}"
        return f"Refused: {what}. This turn ends. Only the user can raise the budget."

    @property
    def _what(self) -> str:
        used = self._shown(self.used)
        match self.budget:
            case "cost":
                return f"the agents in this conversation spent {used}"
            case "calls":
                return f"the agents in this conversation made {used} model calls"
            case "depth":
                return f"this agent is already {used} levels deep and tried to start a child"
            case "agents":
                return (
                    f"this conversation already has {used} running agents and tried to start "
                    "another"
                )
            case "turns":
                return f"{used} turns in a row ran without a prompt from a person"
            case "turn_calls":
                return f"this turn made {used} model calls"

    @property
    def _remedy(self) -> str:
        raised = f"type /config budget.{self.budget} {self.limit * 2:.0f}"
        match self.budget:
            case "turns" | "turn_calls":  # a prompt starts the count again
                return f"send a prompt; to allow more, {raised} first"
            case "agents":
                return f"end agents with /kill, or {raised}, then send a prompt"
            case _:
                return f"{raised}, then send a prompt"

    def _shown(self, amount: float) -> str:
        return f"${amount:,.2f}" if self.budget == "cost" else f"{amount:,.0f}"
