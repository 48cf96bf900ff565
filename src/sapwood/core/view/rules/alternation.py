"""The user speaks first, and the two sides take turns."""

from itertools import pairwise

from sapwood.core.live import Live
from sapwood.core.state import State
from sapwood.core.view.request import Request

__all__ = ["Alternation"]


class Alternation:
    """Roles alternate, starting with the user."""

    def broken(self, request: Request, state: State, live: Live) -> list[str]:
        """Where two messages of one side meet, or the assistant speaks first."""
        roles = [message.role for message in request.messages]
        faults = ["the assistant speaks first"] if roles[:1] == ["assistant"] else []
        return faults + [
            f"messages {i} and {i + 1} are both of the {a}"
            for i, (a, b) in enumerate(pairwise(roles))
            if a == b
        ]
