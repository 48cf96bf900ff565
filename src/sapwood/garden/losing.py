"""What a compaction would lose, and which act frees how many tokens before it comes. Pure."""

from msgspec import Struct

from sapwood.core.counting import Count, Counter, show
from sapwood.core.ledger import Ledger
from sapwood.core.session import Session
from sapwood.garden.pruning import Advice

__all__ = ["Loss", "freeing_acts", "loss_of"]

_NAMED = 3


class Loss(Struct, frozen=True):
    """What a compaction would put a summary in place of, and the tokens that it would free."""

    turns: int = 0
    decisions: int = 0
    questions: int = 0
    failing: int = 0
    tokens: int = 0

    def told(self) -> str:
        """What would be lost, in words.

        >>> Loss(turns=4, decisions=1).told()
        '4 turns, 1 decision'
        """
        parts = {
            "turn": self.turns,
            "decision": self.decisions,
            "open question": self.questions,
            "failing command": self.failing,
        }
        return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for word, n in parts.items() if n)


def loss_of(session: Session, ledger: Ledger, counter: Counter) -> Loss:
    """What a compaction of the session would lose."""
    numbers = session.numbers
    turns = {numbers[place] for place in session.places_in_view}
    decisions = (each for each in ledger.decisions if each.reversed_by is None)
    return Loss(
        turns=len(turns),
        decisions=sum(each.turn in turns for each in decisions),
        questions=sum(each.turn in turns for each in ledger.questions),
        failing=sum(each.turn in turns for each in ledger.failing),
        tokens=sum(counter.count(text).tokens for turn in session.in_view for text in turn.texts()),
    )


def freeing_acts(loss: Loss, advice: Advice) -> str:
    """What could be done, a line each, with the tokens that it frees.

    >>> print(freeing_acts(Loss(turns=4, tokens=60_000), Advice()))
    - /compact now frees ~60k tokens; all is archived first, and a short prompt brings it back.
    - `context archive --topic NAME` keeps what must not get lost.
    """
    lines: list[str] = []
    if loss.tokens:
        lines.append(
            f"- /compact now frees {_estimate(loss.tokens)} tokens; all is archived first, and a "
            "short prompt brings it back."
        )
    if advice.items:
        named = "; ".join(
            f"{item.what} ({_estimate(item.tokens)})" for item in advice.items[:_NAMED]
        )
        freed = _estimate(advice.frees)
        lines.append(f"- What `context prune` lists takes {freed} tokens: {named}.")
    lines.append("- `context archive --topic NAME` keeps what must not get lost.")
    return "\n".join(lines)


def _estimate(tokens: int) -> str:
    return show(Count(tokens, exact=False))
