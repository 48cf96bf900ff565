"""What survives a compaction: facts of a session that a model still has afterwards.

Facts are the labels: files created, changed and deleted, the last request, decisions in force, and
what fails. They are looked for in a summary as a program's own compaction leaves it
(`NAME.summary.txt`), in that with the newest of the conversation beside it, and in that with
Sapwood's resumption prompt beside it, both within the same budget.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from evals.labels import FOLDER, SETS, Labelled, Set, read_set
from sapwood.core.ledger.speech.words import content_words
from sapwood.garden import resumption_prompt
from sapwood.tokens import FeatureCounter

__all__ = ["BUDGET", "LIMIT", "facts_of", "main", "survivors", "with_prompt"]

BUDGET = 2_000
LIMIT = 0.95
_MOST_WORDS = 0.6
KINDS = ("files", "last request", "decisions", "failing")
Fact = tuple[str, str]
"""A kind, and what is looked for."""


def main(argv: list[str]) -> int:
    """Prints the share of facts that survive, by kind; fails if the prompt saves too few."""
    ways = (
        ("summary alone", summary),
        ("with the newest turns", with_tail),
        ("SAPWOOD", with_prompt),
    )
    short = 0
    for chosen in SETS:
        labelled = read_set(chosen)
        facts = [(kind, each, fact) for each in labelled for kind, fact in facts_of(each)]
        print(f"\n{chosen.replace('_', ' ')}: {len(facts)} facts of {len(labelled)} sessions")
        print(f"{'':<24}" + "".join(f"{kind:>14}" for kind in (*KINDS, "all")))
        for name, way in ways:
            shares = [survivors(labelled, chosen, way, kind) for kind in (*KINDS, "")]
            print(f"{name:<24}" + "".join(f"{share:>14.2f}" for share in shares))
        short += survivors(labelled, chosen, with_prompt) < LIMIT
        if "--misses" in argv and chosen == "tuned":
            print_misses(labelled, chosen)
    print(f"\nlimit: {LIMIT:.2f} of all facts, within {BUDGET:,} tokens beside the summary")
    return int(short > 0)


def facts_of(each: Labelled) -> Iterator[Fact]:
    """What a model should still know of a session."""
    labels = each.labels
    for listed in (labels.files.created, labels.files.changed, labels.files.deleted):
        yield from (("files", file.path) for file in listed)
    yield "last request", labels.last_request
    for decision in labels.decisions:
        if decision.reversed_by is None and not decision.optional:
            yield "decisions", re.sub(r"\\([^()]*\\)", "", decision.text)
    for left in labels.failing:
        yield from (("failing", name) for name in left.tests or [left.command] if not left.optional)


def survivors(
    labelled: Sequence[Labelled],
    chosen: Set,
    way: Callable[[Labelled, Set], str],
    kind: str = "",
) -> float:
    """The share of the facts, or of those of a kind, that the text of each session holds."""
    found = [
        survives(each_kind, fact, text)
        for each in labelled
        for text in (way(each, chosen),)
        for each_kind, fact in facts_of(each)
        if kind in ("", each_kind)
    ]
    return sum(found) / len(found) if found else 1.0


def survives(kind: str, fact: str, text: str) -> bool:
    """Whether a text holds a fact: a decision in other words, everything else as it stands."""
    if kind == "decisions":
        words = set(content_words(fact))
        lines = [set(content_words(line)) for line in text.splitlines()]
        return any(len(words & line) >= _MOST_WORDS * len(words) for line in lines)
    plain = " ".join(text.replace("\n  > ", "\n").split())
    return " ".join(fact.split()) in plain


def summary(each: Labelled, chosen: Set) -> str:
    """What a program's own compaction leaves."""
    return (FOLDER / chosen / f"{each.name}.summary.txt").read_text(encoding="utf-8")


def with_tail(each: Labelled, chosen: Set) -> str:
    """The summary, and the newest texts of the conversation that fit the budget."""
    counter, room, kept = FeatureCounter(), BUDGET, list[str]()
    for turn in reversed(each.session.turns):
        for text in reversed(turn.texts()):
            room -= counter.count(text).tokens
            if room < 0:
                return "\n".join((summary(each, chosen), *reversed(kept)))
            kept.append(text)
    return "\n".join((summary(each, chosen), *reversed(kept)))


def with_prompt(each: Labelled, chosen: Set) -> str:
    """The summary, and Sapwood's resumption prompt."""
    prompt = resumption_prompt(each.session, FeatureCounter(), budget=BUDGET)
    return f"{summary(each, chosen)}\n{prompt}"


def print_misses(labelled: Sequence[Labelled], chosen: Set) -> None:
    """Facts that are lost, for whoever tunes."""
    for each in labelled:
        text = with_prompt(each, chosen)
        for kind, fact in facts_of(each):
            if not survives(kind, fact, text):
                print(f"    {each.name}: {kind}: {fact}")
