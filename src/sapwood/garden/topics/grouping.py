"""Topics beside the task: runs of turns off it, taken apart and put together by their words."""

from collections.abc import Sequence

from sapwood.garden.topics.features import TurnFeatures
from sapwood.garden.topics.tracking import coverage, rarity

__all__ = ["grouped"]

_ALIKE = 0.3
"""The share of words that two runs have in common when they are about the same."""
_NAMED = 4
"""Words of its own that a prompt needs to name a new subject."""


def grouped(
    turns: Sequence[TurnFeatures], task: Sequence[bool], noise: Sequence[bool]
) -> list[list[int]]:
    """The places of the turns that are neither on the task nor noise, one group a topic."""
    weights = rarity(turns)
    groups: list[list[int]] = []
    for run in _runs(turns, task, noise):
        alike = [group for group in groups if _is_alike(turns, run, group, weights)]
        if alike:
            alike[-1].extend(run)
        else:
            groups.append(run)
    return groups


def _runs(
    turns: Sequence[TurnFeatures], task: Sequence[bool], noise: Sequence[bool]
) -> list[list[int]]:
    """Turns that follow one another without a new subject; noise between them parts none."""
    runs: list[list[int]] = []
    goes_on = False
    for place, turn in enumerate(turns):
        if noise[place]:
            continue
        if task[place]:
            goes_on = False
        elif goes_on and not _begins(turn, [turns[p] for p in runs[-1]]):
            runs[-1].append(place)
        else:
            runs.append([place])
            goes_on = True
    return runs


def _begins(turn: TurnFeatures, run: Sequence[TurnFeatures]) -> bool:
    """Whether a turn is about something else than the run before it."""
    if turn.aside:
        return True
    return len(turn.subject) >= _NAMED and not any(turn.subject & each.seen for each in run)


def _is_alike(
    turns: Sequence[TurnFeatures],
    run: Sequence[int],
    group: Sequence[int],
    weights: dict[str, float],
) -> bool:
    """Whether both have a turn that is largely covered by the other."""
    ours = {word for place in run for word in turns[place].terms}
    theirs = {word for place in group for word in turns[place].terms}
    one = max(coverage(turns[place], weights, theirs.__contains__) for place in run)
    other = max(coverage(turns[place], weights, ours.__contains__) for place in group)
    return min(one, other) >= _ALIKE
