"""Many commands on one agent, decided one after the other and committed together.

For what comes in bulk and can be given again: an import. Each command keeps its own id, time and
receipt, so that nobody can tell from the log how many were committed at once.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from sapwood.core.commands import Command, Given
from sapwood.core.counting import Counter
from sapwood.core.decide import Scene, decide
from sapwood.core.events import Recorded
from sapwood.core.live import Live
from sapwood.core.log import Receipt
from sapwood.core.refusals import Refusal
from sapwood.core.state import State

__all__ = ["Batch", "Ordered", "decide_all"]

Ordered = tuple[Command, Given]
"""A command, and how it was given."""


class Batch(Struct, frozen=True):
    """What follows from many commands: events, a receipt for each, and the agent after them."""

    events: tuple[Recorded, ...]
    receipts: tuple[Receipt, ...]
    state: State
    live: Live


def decide_all(
    state: State,
    live: Live,
    commands: Sequence[Ordered],
    counter_for: Callable[[str], Counter],
) -> Batch | None:
    """What follows from the commands; None when they cannot all be decided without reading more."""
    events: list[Recorded] = []
    receipts: list[Receipt] = []
    for command, given in commands:
        counter = counter_for(state.settings.model)
        decision = decide(Scene(state, live, counter), command, given)
        if isinstance(decision, Refusal):
            return None
        for change in decision.changes:
            if change.agent != state.agent or change.state is None or change.live is None:
                return None
            recorded = [
                Recorded(change.agent, version, event, given.at, given.actor, given.id)
                for version, event in enumerate(change.events, start=state.version + 1)
            ]
            events += recorded
            receipts.append(Receipt(given.id, decision.says, tuple(r.ref for r in recorded)))
            state, live = change.state, change.live
    return Batch(tuple(events), tuple(receipts), state, live)
