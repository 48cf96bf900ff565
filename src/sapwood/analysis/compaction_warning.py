"""The warning before a compaction: how full the window is, what would be lost, what frees tokens.

A hook imports this module on every prompt, so it imports other analysis modules for types only.
"""

from msgspec import Struct

from sapwood.core.plural import counted
from sapwood.core.token_count import Count, Counter, show

TYPE_CHECKING = False  # as in `typing`; importing `typing` would take longer than this module
if TYPE_CHECKING:
    from sapwood.analysis.ledger.entries import Ledger
    from sapwood.analysis.prune_advice import PruneAdvice
    from sapwood.analysis.session import Session


_MAX_ITEMS = 3
"""Prunable items that the warning names."""


class CompactionLoss(Struct, frozen=True):
    """What a compaction would replace by a summary, and how many tokens it would free."""

    turns: int = 0
    decisions: int = 0
    questions: int = 0
    failing: int = 0
    tokens: int = 0

    def describe(self) -> str:
        """Returns what would be lost, in words.

        >>> CompactionLoss(turns=4, decisions=1).describe()
        '4 turns, 1 decision'
        """
        parts = {
            "turn": self.turns,
            "decision": self.decisions,
            "open question": self.questions,
            "failing command": self.failing,
        }
        return ", ".join(counted(n, word) for word, n in parts.items() if n)


def loss_of(session: "Session", ledger: "Ledger", counter: Counter) -> CompactionLoss:
    """Returns what a compaction of the session would lose."""
    numbers = session.numbers
    turns = {numbers[index] for index in session.indexes_in_view}
    decisions = (each for each in ledger.decisions if each.reversed_by is None)
    return CompactionLoss(
        turns=len(turns),
        decisions=sum(each.turn in turns for each in decisions),
        questions=sum(each.turn in turns for each in ledger.questions),
        failing=sum(each.turn in turns for each in ledger.failing),
        tokens=sum(counter.count(text).tokens for turn in session.in_view for text in turn.texts()),
    )


def ways_to_free_tokens(loss: CompactionLoss, advice: "PruneAdvice") -> str:
    """Returns a list of actions, one a line, with the tokens that each frees.

    >>> from sapwood.analysis.prune_advice import PruneAdvice
    >>> print(ways_to_free_tokens(CompactionLoss(turns=4, tokens=60_000), PruneAdvice()))
    - /compact now frees ~60k tokens. Sapwood saves a full copy first and gives a recap afterwards.
    - `sapwood context archive --topic NAME` archives what you need later.
    - `sapwood context note decision TEXT` keeps a decision or goal above summaries.
    """
    lines: list[str] = []
    if loss.tokens:
        lines.append(
            f"- /compact now frees {_estimate(loss.tokens)} tokens. Sapwood saves a full copy "
            "first and gives a recap afterwards."
        )
    if advice.items:
        items = "; ".join(
            f"{item.what} ({_estimate(item.tokens)})" for item in advice.items[:_MAX_ITEMS]
        )
        freed = _estimate(advice.frees)
        lines.append(f"- What `sapwood context prune` lists takes {freed} tokens: {items}.")
    lines.append("- `sapwood context archive --topic NAME` archives what you need later.")
    lines.append("- `sapwood context note decision TEXT` keeps a decision or goal above summaries.")
    return "\n".join(lines)


class CompactionNotice(Struct, frozen=True):
    """What a compaction did: the size of the context before and after it, and the turns that left.

    A number that is not known is 0. `command` is how a command of Sapwood is typed in the program,
    `matter` are the numbers of the turns that matter most.
    """

    before: int = 0
    after: int = 0
    turns: int = 0
    command: str = "sapwood {}"
    matter: str = ""

    def describe(self) -> str:
        """Returns one line for the user: what left, and how to bring it back.

        >>> CompactionNotice(167_000, 12_000, 41, "/sapwood:{}", "12 15").describe()
        'Compacted 167k → 12k, 41 turns left view. Bring them back: /sapwood:undo. Only the turns \
that matter, which costs less: /sapwood:bring 12 15.'
        """
        sizes = [show(Count(each, exact=True)) for each in (self.before, self.after) if each]
        line = f"Compacted {' → '.join(sizes)}".rstrip()
        line += f", {counted(self.turns, 'turn')} left view." if self.turns else "."
        what = "them back" if self.turns else "back what left view"
        line += f" Bring {what}: {self.command.format('undo')}."
        if self.matter:
            bring = self.command.format(f"bring {self.matter}")
            line += f" Only the turns that matter, which costs less: {bring}."
        return line


def turns_that_matter(ledger: "Ledger", max_turns: int = 4) -> list[int]:
    """Returns the numbers of the turns that a summary should not lose, at most `max_turns`.

    Turns with a decision in force come first, then those with an open question or a failing
    command, the newest of each first.
    """
    decided = [each.turn for each in ledger.decisions if each.reversed_by is None]
    open_ends = [each.turn for each in (*ledger.questions, *ledger.failing)]
    wanted = dict.fromkeys([*sorted(decided, reverse=True), *sorted(open_ends, reverse=True)])
    return sorted(list(wanted)[:max_turns])


class WindowUsage(Struct, frozen=True):
    """The tokens in use; `limit` is where the program compacts, or the size of its window."""

    used: int
    limit: int

    @property
    def share(self) -> float:
        """The used share of the limit."""
        return self.used / self.limit if self.limit else 0.0


def window_warning(usage: WindowUsage, lost: str, actions: str) -> str:
    """Returns the warning for the user and the model.

    `lost` is `CompactionLoss.describe`, `actions` the list of `ways_to_free_tokens`.

    >>> usage = WindowUsage(70_000, 100_000)
    >>> print(window_warning(usage, "4 turns, 1 decision", "- /compact frees ~60k."))
    Context at 70 % of 100k tokens. Compacting will summarise 4 turns, 1 decision.
    - /compact frees ~60k.
    """
    limit = show(Count(usage.limit, exact=True))
    head = f"Context at {round(usage.share * 100)} % of {limit} tokens."
    if lost:
        head += f" Compacting will summarise {lost}."
    return f"{head}\n{actions}" if actions else head


def _estimate(tokens: int) -> str:
    return show(Count(tokens, exact=False))
