"""The eval of topics and drift.

A found topic is paired with the labelled topic with which it shares most turns; each labelled topic
has one found topic at most. There are two simple rules for comparison. Counting keywords: a turn is
on the task if its prompt has a keyword of the first prompt, and its topic is its most frequent
keyword. 'Largest topic always': every turn is about the largest labelled topic, and on track.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from evals.labels import SETS, LabelledSession, read_set
from sapwood.analysis import drift_of
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.session import Session
from sapwood.core.content import Text
from sapwood.tokens import FeatureCounter

__all__ = ["LIMIT", "DriftScore", "main", "score_of"]

LIMIT = 0.90
TurnTopics = list[tuple[str, str]]
"""Topic and status of each turn."""


class DriftScore(Struct, frozen=True):
    """The number of turns with the right topic, with the right status, and of all turns."""

    topics: int = 0
    statuses: int = 0
    turns: int = 0

    def __add__(self, other: "DriftScore") -> "DriftScore":
        return DriftScore(
            self.topics + other.topics, self.statuses + other.statuses, self.turns + other.turns
        )


def main(argv: list[str]) -> int:
    """Prints the scores of each session and set. Returns 1 if a total is below the limit."""
    failed = 0
    for chosen in SETS:
        labelled = read_set(chosen)
        print(f"\n{chosen.replace('_', ' ')}\n{'':<30}{'topic':>8}{'status':>8}")
        for each in labelled:
            print_row(each.name, score_of([each], sapwood_topics))
            if "--misses" in argv and chosen == "tuned":
                print_misses(each)
        print_row("largest topic always", score_of(labelled, largest_topic))
        print_row("keyword counting", score_of(labelled, keyword_topics))
        total = score_of(labelled, sapwood_topics)
        print_row("SAPWOOD", total)
        print_names(labelled)
        failed += min(total.topics, total.statuses) < LIMIT * total.turns
    print(f"\nlimit: {LIMIT:.2f} of all turns")
    return int(failed > 0)


def score_of(
    labelled: Sequence[LabelledSession], place: Callable[[LabelledSession], TurnTopics]
) -> DriftScore:
    """Returns the sum of the scores of the sessions."""
    return sum((_score(each, place(each)) for each in labelled), DriftScore())


def sapwood_topics(each: LabelledSession) -> TurnTopics:
    """Returns the topics and statuses that Sapwood finds."""
    return [(t.topic, t.status) for t in drift_of(each.session, FeatureCounter()).turns]


def largest_topic(each: LabelledSession) -> TurnTopics:
    """The rule 'largest topic always'."""
    largest = Counter(turn.topic for turn in each.labels.turns).most_common(1)[0][0]
    return [(largest, "on-track") for _ in each.labels.turns]


def keyword_topics(each: LabelledSession) -> TurnTopics:
    """The rule of counting keywords."""
    words = [content_words(prompt) for prompt in _prompts(each.session)]
    frequent = Counter(word for prompt in words for word in prompt)
    task = set(words[0]) if words else set[str]()
    found: TurnTopics = []
    for prompt in words:
        topic = max(prompt, key=lambda word: frequent[word], default="")
        found.append((topic, "on-track" if task & set(prompt) else "tangent"))
    return found


def _prompts(session: Session) -> list[str]:
    return [
        "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
        for turn in session.turns
        if not turn.goes_on
    ]


def _score(each: LabelledSession, found: TurnTopics) -> DriftScore:
    wanted = each.labels.turns
    pairs = Counter((topic, label.topic) for (topic, _), label in zip(found, wanted, strict=True))
    ours: dict[str, str] = {}
    for (topic, label), _ in pairs.most_common():
        if topic not in ours and label not in ours.values():
            ours[topic] = label
    both = list(zip(found, wanted, strict=True))
    return DriftScore(
        sum(ours.get(topic) == label.topic for (topic, _), label in both),
        sum(status == label.status for (_, status), label in both),
        len(wanted),
    )


def print_row(name: str, score: DriftScore) -> None:
    """Prints one row of the table."""
    print(f"{name:<30}{score.topics / score.turns:>8.2f}{score.statuses / score.turns:>8.2f}")


def print_names(labelled: Sequence[LabelledSession]) -> None:
    """Prints the names of the topics, for a person to judge."""
    print("names:")
    for each in labelled:
        drift = drift_of(each.session, FeatureCounter())
        wanted = " · ".join(dict.fromkeys(turn.topic for turn in each.labels.turns))
        found = " · ".join(topic.name for topic in drift.topics)
        print(f"  {each.name}\n    labelled  {wanted}\n    found     {found}")


def print_misses(each: LabelledSession) -> None:
    """Prints the turns with a wrong status, for tuning the rules."""
    prompts = _prompts(each.session)
    for (topic, status), label, prompt in zip(
        sapwood_topics(each), each.labels.turns, prompts, strict=True
    ):
        if status != label.status:
            start = re.sub(r"\s+", " ", prompt)[:70]
            print(f"    {label.turn}: {status}, labelled {label.status} ({topic}): {start}")
