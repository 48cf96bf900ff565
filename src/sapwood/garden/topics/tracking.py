"""Which turns serve the original task: the best path through the turns, on the task or off it.

Three things speak: how much of a turn's words and files the task's other turns share; whether its
prompt takes up what was said just before, in which case it stays where that was; and cues such as
'btw' and 'back to'. A turn leaves the task only if its prompt names a new subject. What the task's
turns are is what is asked for, so the path is found again with the answer until it stays.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sapwood.garden.topics.features import GENERIC, TurnFeatures

__all__ = ["coverage", "on_task", "rarity"]

_SHARPNESS = 14.0
_ENOUGH_OTHERS = 4
_USUAL = 0.5
"""A turn is off the task when it shares less than this part of what turns here usually share."""
_LOWEST, _HIGHEST = 0.18, 0.24
_SAME_FILE, _OTHER_FILES = 0.15, -0.05
_EVIDENCE = 12
"""Words that a turn needs for its share to count in full."""
_NAMED = 4
"""Words of its own that a prompt needs to name a new subject."""
_STAY, _FOLLOW_UP, _AT_HAND = 1.3, 0.3, 0.5
_FEW, _REFERRING = 3, 0.2
_SWITCH = 0.2
_CUE = 2.0
_GENERIC_WEIGHT = 0.3
_ROUNDS = 6
_NEAR = 1


def rarity(turns: Sequence[TurnFeatures]) -> dict[str, float]:
    """How much each word says: the fewer turns have it the more, and little if it is generic."""
    found = Counter(word for turn in turns for word in turn.terms)
    return {
        word: math.log(1 + len(turns) / times) * (_GENERIC_WEIGHT if word in GENERIC else 1.0)
        for word, times in found.items()
    }


def coverage(
    turn: TurnFeatures, weights: dict[str, float], is_known: Callable[[str], bool]
) -> float:
    """The share of a turn's words, by weight, that are known."""
    whole = shared = 0.0
    for word, times in turn.terms.items():
        weight = times * weights[word]
        whole += weight
        if is_known(word):
            shared += weight
    return shared / whole if whole else 0.0


def on_task(turns: Sequence[TurnFeatures], noise: Sequence[bool]) -> list[bool]:
    """Whether each turn serves the task that the first one set. Noise never does."""
    weights = rarity(turns)
    working = [place for place in range(len(turns)) if not noise[place]]
    task = [not noise[place] and not turns[place].aside for place in range(len(turns))]
    for _ in range(_ROUNDS):
        ties = _ties(turns, task, weights)
        path = _best_path([turns[p] for p in working], [ties[p] for p in working], weights)
        found = [False] * len(turns)
        for place, is_on in zip(working, path, strict=True):
            found[place] = is_on
        if found == task:
            break
        task = found
    return task


class _Tie(NamedTuple):
    """What a turn shares with the task's other turns, and how many of those there are."""

    share: float
    others: int


def _ties(
    turns: Sequence[TurnFeatures], task: Sequence[bool], weights: dict[str, float]
) -> list[_Tie]:
    """What each turn shares with the task's other turns, its neighbours left out.

    What it shares with those is told by how it follows on them.
    """
    served = [turn for turn, is_on in zip(turns, task, strict=True) if is_on]
    words = Counter(word for turn in served for word in turn.terms)
    files = Counter(file for turn in served for file in turn.files)
    ties: list[_Tie] = []
    for place, turn in enumerate(turns):
        near = range(max(0, place - _NEAR), min(len(turns), place + _NEAR + 1))
        beside = [turns[p] for p in near if task[p]]

        def is_known(word: str, beside: list[TurnFeatures] = beside) -> bool:
            elsewhere = words[word]
            for each in beside:
                if word in each.terms:
                    elsewhere -= 1
            return elsewhere > 0

        at_hand = any(files[f] > sum(f in each.files for each in beside) for f in turn.files)
        beyond = bool(turn.files) and not at_hand and not turn.made
        share = coverage(turn, weights, is_known) + _SAME_FILE * at_hand + _OTHER_FILES * beyond
        ties.append(_Tie(share, len(served) - len(beside)))
    return ties


def _best_path(
    turns: Sequence[TurnFeatures], ties: Sequence[_Tie], weights: dict[str, float]
) -> list[bool]:
    """The likeliest way through the turns, on the task (True) or off it; it begins on it."""
    limit = _limit([tie.share for tie in ties])
    scores = {True: 0.0, False: -math.inf}
    came_from: list[dict[bool, bool]] = []
    for before, turn, tie in zip(turns, turns[1:], ties[1:], strict=False):
        stay = _STAY * _follows(turn, before, weights)
        best = {
            state: max(
                (scores[other] + (stay if other == state else -_SWITCH), other) for other in scores
            )
            for state in scores
        }
        came_from.append({state: best[state][1] for state in scores})
        fits = _fits(turn, tie, limit) + _CUE * turn.returns
        scores = {True: best[True][0] + fits, False: best[False][0] + _CUE * turn.aside}
    path = [scores[True] >= scores[False]] if turns else []
    for step in reversed(came_from):
        path.append(step[path[-1]])
    return path[::-1]


def _fits(turn: TurnFeatures, tie: _Tie, limit: float) -> float:
    """How much a turn's words speak for the task (above 0) or against it.

    Little is said by a turn of few words. What is new speaks against it only beside enough other
    turns, because at the beginning of a session everything is new.
    """
    told = min(1.0, len(turn.subject) / _NAMED) * min(1.0, len(turn.terms) / _EVIDENCE)
    fit = _SHARPNESS * (tie.share - limit) * told
    return fit if fit > 0 else fit * min(1.0, tie.others / _ENOUGH_OTHERS)


def _limit(shared: Sequence[float]) -> float:
    """What a turn on the task shares at least, seen from what turns share in this session."""
    middle = sorted(shared)[len(shared) // 2] if shared else 0.0
    return min(_HIGHEST, max(_LOWEST, _USUAL * middle))


def _follows(turn: TurnFeatures, before: TurnFeatures, weights: dict[str, float]) -> float:
    """How much a turn takes up of what was said just before; a short prompt cannot but follow."""
    own = turn.subject
    taken_up = len(own & before.seen) / min(len(own), _FEW) if own else 0.0
    echoed = coverage(turn, weights, before.seen.__contains__)
    same_file = _AT_HAND * bool(turn.files & before.files)
    pointing = _FOLLOW_UP * max(0, _FEW - len(own)) + _REFERRING * turn.refers
    return min(1.0, taken_up) + echoed + same_file + pointing
