"""The eval of the recap after a compaction: which facts of a session are still known.

The facts are the labels: files created, changed and deleted, the last request, valid decisions,
what fails, and open questions. The eval searches for them in the summary of a program's own
compaction (`NAME.summary.txt`), in the summary with the newest turns, and in the summary with
Sapwood's recap. The turns and the recap have the same budget. The sessions labelled by quotes have
no summary: there the newest turns are compared with the recap alone.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from evals.labels import FOLDER, SETS, LabelledSession, SessionSet, read_set
from evals.quoted_labels import QUOTED_SETS, QuotedSession, read_quoted
from evals.quoted_ledger import TITLES
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.resumption import resumption_prompt
from sapwood.analysis.session import Session
from sapwood.tokens.estimators import FeatureCounter

BUDGET = 2_000
LIMIT = 0.95
QUOTED_LIMIT = 0.80
SAID = ("decisions", "questions")
_SHARED_WORDS = 0.6
KINDS = ("files", "last request", "decisions", "failing")
Fact = tuple[str, str]
"""A kind, and the text of the fact."""


def main(argv: list[str]) -> int:
    """Prints the share of known facts by kind. Returns 1 if Sapwood's is below the limit."""
    ways = (
        ("summary alone", summary),
        ("with the newest turns", with_tail),
        ("SAPWOOD", with_prompt),
    )
    failed = 0
    for chosen in SETS:
        labelled = read_set(chosen)
        facts = [(kind, each, fact) for each in labelled for kind, fact in facts_of(each)]
        print(f"\n{chosen.replace('_', ' ')}: {len(facts)} facts of {len(labelled)} sessions")
        print(f"{'':<24}" + "".join(f"{kind:>14}" for kind in (*KINDS, "all")))
        for name, way in ways:
            shares = [survivors(labelled, chosen, way, kind) for kind in (*KINDS, "")]
            print(f"{name:<24}" + "".join(f"{share:>14.2f}" for share in shares))
        failed += survivors(labelled, chosen, with_prompt) < LIMIT
        if "--misses" in argv and chosen == "tuned":
            print_misses(labelled, chosen)
    for chosen in QUOTED_SETS:
        failed += print_quoted_recaps(TITLES[chosen], read_quoted(chosen))
    print(
        f"\nlimits: {LIMIT:.2f} of all facts, within {BUDGET:,} tokens beside the summary; "
        f"{QUOTED_LIMIT:.2f} of the facts labelled by quotes, and no line twice"
    )
    return int(failed > 0)


def print_quoted_recaps(title: str, labelled: Sequence[QuotedSession]) -> bool:
    """Prints the share of known facts of sessions labelled by quotes. Returns whether it is low."""
    kinds = ("files", "decisions", "failing", "questions", "")
    shares = {
        name: [quoted_survivors(labelled, way, kind) for kind in kinds]
        for name, way in (("newest turns alone", newest_turns), ("SAPWOOD", recap))
    }
    print(f"\n{title}: {sum(len(list(quoted_facts(e))) for e in labelled)} facts")
    print(f"{'':<24}" + "".join(f"{kind or 'all':>14}" for kind in kinds))
    for name, row in shares.items():
        print(f"{name:<24}" + "".join(f"{share:>14.2f}" for share in row))
    twice = [each.name for each in labelled if has_line_twice(recap(each.session))]
    if twice:
        print(f"a line is told twice: {', '.join(twice)}")
    return bool(labelled) and (shares["SAPWOOD"][-1] < QUOTED_LIMIT or bool(twice))


def quoted_facts(each: QuotedSession) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields the facts of a session labelled by quotes: a kind, and texts of which one must do."""
    labels = each.labels
    optional = set(labels.files.optional)
    for listed in (labels.files.created, labels.files.changed, labels.files.deleted):
        yield from (("files", (path,)) for path in listed if path not in optional)
    yield from (("decisions", d.quotes) for d in labels.decisions if d.reversed_by is None)
    yield from (("failing", (command,)) for command in labels.failing)
    yield from (("questions", question.quotes) for question in labels.questions)


def quoted_survivors(
    labelled: Sequence[QuotedSession], way: Callable[[Session], str], kind: str = ""
) -> float:
    """Returns the share of the facts, or of those of one kind, that are in the text."""
    found = [
        any(survives("decisions" if each_kind in SAID else each_kind, text, told) for text in texts)
        for each in labelled
        for told in (way(each.session),)
        for each_kind, texts in quoted_facts(each)
        if kind in ("", each_kind)
    ]
    return sum(found) / len(found) if found else 1.0


def recap(session: Session) -> str:
    """Returns Sapwood's recap alone."""
    return resumption_prompt(session, FeatureCounter(), budget=BUDGET, is_recap=True)


def newest_turns(session: Session) -> str:
    """Returns the newest texts of the session that fit the budget."""
    counter, room, kept = FeatureCounter(), BUDGET, list[str]()
    for turn in reversed(session.turns):
        for text in reversed(turn.texts()):
            room -= counter.count(text).tokens
            if room < 0:
                return "\n".join(reversed(kept))
            kept.append(text)
    return "\n".join(reversed(kept))


def has_line_twice(text: str) -> bool:
    """Whether a recap has the same line twice."""
    lines = [line for line in text.splitlines() if line.startswith("- ") and len(line) > 24]
    return len(lines) > len(set(lines))


def facts_of(session: LabelledSession) -> Iterator[Fact]:
    """Yields the facts of a session that a model should still know."""
    labels = session.labels
    for listed in (labels.files.created, labels.files.changed, labels.files.deleted):
        yield from (("files", file.path) for file in listed)
    yield "last request", labels.last_request
    for decision in labels.decisions:
        if decision.reversed_by is None and not decision.optional:
            yield "decisions", re.sub(r"\\([^()]*\\)", "", decision.text)
    for each in labels.failing:
        yield from (("failing", name) for name in each.tests or [each.command] if not each.optional)


def survivors(
    labelled: Sequence[LabelledSession],
    chosen: SessionSet,
    way: Callable[[LabelledSession, SessionSet], str],
    kind: str = "",
) -> float:
    """Returns the share of the facts, or of those of one kind, that are in the text."""
    found = [
        survives(each_kind, fact, text)
        for each in labelled
        for text in (way(each, chosen),)
        for each_kind, fact in facts_of(each)
        if kind in ("", each_kind)
    ]
    return sum(found) / len(found) if found else 1.0


def survives(kind: str, fact: str, text: str) -> bool:
    """Whether a text contains a fact: most words of a decision, any other fact unchanged."""
    if kind == "decisions":
        words = set(content_words(fact))
        lines = [set(content_words(line)) for line in text.splitlines()]
        return any(len(words & line) >= _SHARED_WORDS * len(words) for line in lines)
    plain = " ".join(text.replace("\n  > ", "\n").split())
    return " ".join(fact.split()) in plain


def summary(each: LabelledSession, chosen: SessionSet) -> str:
    """Returns the summary of a program's own compaction."""
    return (FOLDER / chosen / f"{each.name}.summary.txt").read_text(encoding="utf-8")


def with_tail(each: LabelledSession, chosen: SessionSet) -> str:
    """Returns the summary and the newest texts of the session that fit the budget."""
    return f"{summary(each, chosen)}\n{newest_turns(each.session)}"


def with_prompt(each: LabelledSession, chosen: SessionSet) -> str:
    """Returns the summary and Sapwood's resumption prompt."""
    prompt = resumption_prompt(each.session, FeatureCounter(), budget=BUDGET, is_recap=True)
    return f"{summary(each, chosen)}\n{prompt}"


def print_misses(labelled: Sequence[LabelledSession], chosen: SessionSet) -> None:
    """Prints the facts that are lost, for tuning the rules."""
    for each in labelled:
        text = with_prompt(each, chosen)
        for kind, fact in facts_of(each):
            if not survives(kind, fact, text):
                print(f"    {each.name}: {kind}: {fact}")
