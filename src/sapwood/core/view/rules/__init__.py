"""What every request must keep, one small rule a file. `view` keeps them by construction.

They are checked before a model call and by the proofs; a broken rule is a defect in Sapwood,
never the user's.
"""

from typing import Protocol

from sapwood.core.live import Live
from sapwood.core.state import State
from sapwood.core.view.request import Request
from sapwood.core.view.rules.alternation import Alternation
from sapwood.core.view.rules.last_request import LastRequest
from sapwood.core.view.rules.pairing import Pairing
from sapwood.core.view.rules.pins import PinsInView
from sapwood.core.view.rules.substance import Substance

__all__ = ["RULES", "Rule", "check"]


class Rule(Protocol):
    """One property of a request."""

    def broken(self, request: Request, state: State, live: Live) -> list[str]:
        """How the request breaks the rule; empty when it keeps it."""
        ...


RULES: tuple[Rule, ...] = (Alternation(), Pairing(), Substance(), PinsInView(), LastRequest())


def check(request: Request, state: State, live: Live) -> list[str]:
    """Everything that is wrong with a request."""
    return [fault for rule in RULES for fault in rule.broken(request, state, live)]
