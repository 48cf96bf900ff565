"""Many commands on one agent, decided one after the other and committed together.

For imports: many commands at once, which can be dispatched again. Each command has its own id, time
and receipt, so the log is the same as after single commits.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from sapwood.core.commands import Command, CommandMeta
from sapwood.core.decide import DecisionInput, decide
from sapwood.core.events import Recorded
from sapwood.core.live_path import LivePath
from sapwood.core.log_values import Receipt
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.core.token_count import Counter

SentCommand = tuple[Command, CommandMeta]
"""A command and its meta data: who, when, and under which id."""

AdmittedCommand = tuple[Command, CommandMeta, str]
"""A command that has passed the gate, its meta data, and its digest."""


class Batch(Struct, frozen=True):
    """The result of many commands: their events and receipts, and the agent after them."""

    events: tuple[Recorded, ...]
    receipts: tuple[Receipt, ...]
    state: State
    live: LivePath


def decide_all(
    state: State,
    live: LivePath,
    commands: Sequence[AdmittedCommand],
    counter_for: Callable[[str], Counter],
) -> Batch | None:
    """Decides the commands in order. Returns None if one is refused or needs more to be loaded."""
    events: list[Recorded] = []
    receipts: list[Receipt] = []
    for command, meta, digest in commands:
        counter = counter_for(state.settings.model)
        decision = decide(DecisionInput(state, live, counter), command, meta)
        if isinstance(decision, Refusal):
            return None
        for change in decision.changes:
            if change.agent != state.agent or change.state is None or change.live is None:
                return None
            recorded = [
                Recorded(change.agent, version, event, meta.at, meta.actor, meta.id)
                for version, event in enumerate(change.events, start=state.version + 1)
            ]
            events += recorded
            refs = tuple(each.ref for each in recorded)
            receipts.append(Receipt(meta.id, decision.message, refs, digest))
            state, live = change.state, change.live
    return Batch(tuple(events), tuple(receipts), state, live)
