"""A warning in time: how full the window is, what a compaction would lose, and what frees how much.

Pure. The figures are those that the program reported, or estimates with a tilde; nothing is said
that is not known.
"""

import json
from collections.abc import Iterator
from typing import cast

from msgspec import Struct

from sapwood.core.content import ToolCall
from sapwood.core.counting import Count, Counter, show
from sapwood.core.ledger import ledger_of
from sapwood.core.session import Session
from sapwood.core.turn import Result

__all__ = ["Loss", "Pressure", "loss_of", "warning"]

_LARGE = 1_000
"""Tokens from which a tool result is worth naming."""
_NAMED = 3
_SUBJECTS = ("file_path", "path", "notebook_path", "command", "cmd", "pattern", "url", "query")


class Pressure(Struct, frozen=True):
    """How much of what fits is used; `limit` is where the program will compact, or its window."""

    used: int
    limit: int

    @property
    def share(self) -> float:
        """The used share."""
        return self.used / self.limit if self.limit else 0.0


class Loss(Struct, frozen=True):
    """What a compaction would put a summary in place of.

    `results` are large tool results, each by what it was of and its tokens, the largest first.
    """

    turns: int = 0
    tokens: int = 0
    decisions: int = 0
    questions: int = 0
    failing: int = 0
    results: tuple[tuple[str, int], ...] = ()

    @property
    def freed_by_results(self) -> int:
        """The tokens of the large results."""
        return sum(tokens for _, tokens in self.results)

    def told(self) -> str:
        """What would be lost, in words."""
        parts = {
            "turn": self.turns,
            "decision": self.decisions,
            "open question": self.questions,
            "failing command": self.failing,
        }
        return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for word, n in parts.items() if n)


def loss_of(session: Session, counter: Counter) -> Loss:
    """What a compaction of the session would lose, as far as its turns are known."""
    ledger = ledger_of(session)
    turns = session.in_view
    first = min((session.numbers[place] for place in session.places_in_view), default=1)
    large = sorted(_large(session, counter), key=lambda each: -each[1])
    return Loss(
        turns=len(turns),
        tokens=sum(counter.count(text).tokens for turn in turns for text in turn.texts()),
        decisions=sum(each.turn >= first and each.reversed_by is None for each in ledger.decisions),
        questions=sum(each.turn >= first for each in ledger.questions),
        failing=sum(each.turn >= first for each in ledger.failing),
        results=tuple(large),
    )


def warning(pressure: Pressure, loss: Loss) -> str:
    """The warning as a person and a model read it.

    >>> print(warning(Pressure(70_000, 100_000), Loss(turns=4, tokens=60_000, decisions=2)))
    Context at 70 % of 100k tokens. A compaction would leave a summary of 4 turns, 2 decisions.
    - /compact now frees ~60k tokens; all is archived first, and a short prompt brings it back.
    - `context prune` shows what else could go, `context archive --topic NAME` keeps what must not.
    """
    limit = show(Count(pressure.limit, exact=True))
    head = f"Context at {pressure.share:.0%} of {limit} tokens.".replace("%", " %")
    told = loss.told()
    lines = [f"{head} A compaction would leave a summary of {told}." if told else head]
    freed = show(Count(loss.tokens, exact=False))
    lines.append(
        f"- /compact now frees {freed} tokens; all is archived first, and a short prompt brings "
        "it back."
    )
    if loss.results:
        named = ", ".join(f"{name} ({_estimate(n)})" for name, n in loss.results[:_NAMED])
        freed = _estimate(loss.freed_by_results)
        lines.append(f"- Large tool results hold {freed} tokens: {named}. Read less next time.")
    lines.append(
        "- `context prune` shows what else could go, `context archive --topic NAME` keeps what "
        "must not."
    )
    return "\n".join(lines)


def _estimate(tokens: int) -> str:
    return show(Count(tokens, exact=False))


def _large(session: Session, counter: Counter) -> Iterator[tuple[str, int]]:
    for turn in session.in_view:
        calls = turn.calls
        for item in turn.items:
            if isinstance(item, Result) and len(item.content) > _LARGE:
                tokens = counter.count(item.content).tokens
                if tokens >= _LARGE:
                    yield _subject(calls.get(item.call)), tokens


def _subject(call: ToolCall | None) -> str:
    """What a call was of: its file, command or whatever else it names first."""
    if call is None:
        return "a tool"
    try:
        args: object = json.loads(call.args)
    except ValueError:
        return call.name
    given = cast("dict[str, object]", args) if isinstance(args, dict) else {}
    named = next((str(given[name]) for name in _SUBJECTS if given.get(name)), "")
    short = " ".join(named.split())
    return f"{call.name} {short[:60]}".strip()
