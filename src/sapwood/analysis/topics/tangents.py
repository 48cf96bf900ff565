"""Groups the turns off the task into topics, by the words that they share."""

from collections.abc import Sequence

from sapwood.analysis.topics.turn_features import TurnFeatures
from sapwood.analysis.topics.turn_status import coverage, word_weights

__all__ = ["group_tangents"]

_SAME_TOPIC = 0.3
"""The share of words that two runs of the same topic have in common."""
_NEW_SUBJECT_WORDS = 4
"""Words of its own that a prompt needs to name a new subject."""


def group_tangents(
    turns: Sequence[TurnFeatures], task: Sequence[bool], noise: Sequence[bool]
) -> list[list[int]]:
    """Returns the indexes of the turns that are neither on the task nor noise, by topic."""
    weights = word_weights(turns)
    groups: list[list[int]] = []
    for run in _runs(turns, task, noise):
        same = [group for group in groups if _is_same_topic(turns, run, group, weights)]
        if same:
            same[-1].extend(run)
        else:
            groups.append(run)
    return groups


def _runs(
    turns: Sequence[TurnFeatures], task: Sequence[bool], noise: Sequence[bool]
) -> list[list[int]]:
    """Returns runs of consecutive turns without a new subject; noise does not end a run."""
    runs: list[list[int]] = []
    continues = False
    for index, turn in enumerate(turns):
        if noise[index]:
            continue
        if task[index]:
            continues = False
        elif continues and not _has_new_subject(turn, [turns[p] for p in runs[-1]]):
            runs[-1].append(index)
        else:
            runs.append([index])
            continues = True
    return runs


def _has_new_subject(turn: TurnFeatures, run: Sequence[TurnFeatures]) -> bool:
    """Whether a turn has another subject than the run before it."""
    if turn.aside:
        return True
    return len(turn.subject) >= _NEW_SUBJECT_WORDS and not any(
        turn.subject & each.seen for each in run
    )


def _is_same_topic(
    turns: Sequence[TurnFeatures],
    run: Sequence[int],
    group: Sequence[int],
    weights: dict[str, float],
) -> bool:
    """Whether each of the two has a turn whose words largely occur in the other."""
    ours = {word for index in run for word in turns[index].terms}
    theirs = {word for index in group for word in turns[index].terms}
    one = max(coverage(turns[index], weights, theirs.__contains__) for index in run)
    other = max(coverage(turns[index], weights, ours.__contains__) for index in group)
    return min(one, other) >= _SAME_TOPIC
