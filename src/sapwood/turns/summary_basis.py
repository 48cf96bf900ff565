"""What a summary is written and checked from: all turns that it will stand for.

These are the turns that leave view and those that the summary in view stands for. The new summary
replaces that one, so it must hold what was in it too.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.analysis.judgement.judged_entries import with_judged
from sapwood.analysis.ledger.entries import Ledger
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.analysis.probes import is_said, probes_of, spoken_words
from sapwood.core.context import Context, undo_step
from sapwood.core.events import ContextTrimmed
from sapwood.core.ids import Space, TurnRef
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_state, read_live

MAX_SUMMARIES = 10
"""How many summaries back turns are read, so that a long conversation has a bound."""


class SummaryBasis(Struct, frozen=True):
    """The turns that a summary stands for, the oldest first, and their ledger.

    `leaving` counts those that are in view and leave it.
    """

    turns: Sequence[Turn]
    leaving: int
    ledger: Ledger

    @property
    def probes(self) -> tuple[str, ...]:
        """What the summary must contain, also of the last request before those that leave."""
        before = self.turns[: len(self.turns) - self.leaving]
        found = (*probes_of(self.turns, self.ledger), *probes_of(before, Ledger()))
        return tuple(dict.fromkeys(found))


async def summary_basis(
    log: Log, space: Space, state: State, leaving: Sequence[Turn]
) -> SummaryBasis:
    """The basis of a summary that replaces these turns and the summary in view."""
    before = await summarised_turns(log, space, state.context)
    turns = (*before, *leaving)
    ledger = ledger_of(turns, state.workspace.folder)
    if before:  # what a model corrected for the summary before stays corrected
        words = spoken_words(turns)
        held = [each for each in state.judged.sentences if each.was or is_said(each.text, words)]
        ledger = with_judged(ledger, held, before[0].number)
    return SummaryBasis(turns, len(leaving), ledger)


async def summarised_turns(log: Log, space: Space, context: Context) -> tuple[Turn, ...]:
    """The turns that the summary of this context replaced, and those of summaries before it.

    The oldest comes first. A turn that left view without a summary is not one of them.
    """
    found: tuple[Turn, ...] = ()
    summary = context.summary
    for _ in range(MAX_SUMMARIES):
        if summary is None:
            break
        then = await open_state(log, space, summary.agent, summary.version - 1)
        after = summary.version + 1  # both events are in one commit
        trim = [each.event for each in await log.read(space, summary.agent, after, after)]
        if not trim or not isinstance(trim[0], ContextTrimmed):
            break
        before = then.context
        if trim[0].cause == "window" and then.undo:  # the turns left before their summary came
            before, _ = undo_step(then.undo[-1], then.context, then.marks)
        path = await read_live(log, space, then, context=before)
        found = (*_up_to(path.turns, trim[0].head, before.tip), *found)
        summary = then.context.summary
    return found


def _up_to(turns: Sequence[Turn], head: TurnRef | None, tip: TurnRef | None) -> Sequence[Turn]:
    """The turns that left view when `head` moved there."""
    for place, turn in enumerate(turns, 1):
        if turn.ref == head:
            return turns[:place]
    return turns if head == tip else ()
