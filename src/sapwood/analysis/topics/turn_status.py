"""Which turns serve the original task, which do not, and which are small talk.

The task is found as the best path through the turns, each on the task or off it. The score has
three parts: how many words and files a turn shares with the other turns of the task; whether its
prompt refers to the turn before, so that it keeps the state of that turn; and discourse markers
such as 'btw' and 'back to'. A turn leaves the task only if its prompt names a new subject. The
score depends on which turns are on the task, so the path is computed again until it is stable.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sapwood.analysis.topics.turn_features import GENERIC_WORDS, TurnFeatures

__all__ = ["coverage", "find_noise", "on_task", "word_weights"]

_SHARPNESS = 14.0
_MIN_OTHER_TURNS = 4
_MEDIAN_SHARE = 0.5
"""A turn is off the task if it shares less than this part of the median of the session."""
_MIN_LIMIT, _MAX_LIMIT = 0.18, 0.24
_SAME_FILE, _OTHER_FILES = 0.15, -0.05
_EVIDENCE_WORDS = 12
"""Words that a turn needs for its share to count in full."""
_NEW_SUBJECT_WORDS = 4
"""Words of its own that a prompt needs to name a new subject."""
_NOISE_SCORE = 2
_LONG_REPLY = 25
_LOW_COVERAGE = 0.15
_STAY, _FOLLOW_UP, _SHARED_FILE = 1.3, 0.3, 0.5
_SHORT_PROMPT, _REFERRING = 3, 0.2
_SWITCH = 0.2
_MARKER = 2.0
_GENERIC_WEIGHT = 0.3
_ROUNDS = 6
_NEIGHBOURS = 1


def word_weights(turns: Sequence[TurnFeatures]) -> dict[str, float]:
    """Returns the weight of each word: high if few turns have it, low if it is generic."""
    found = Counter(word for turn in turns for word in turn.terms)
    return {
        word: math.log(1 + len(turns) / times) * (_GENERIC_WEIGHT if word in GENERIC_WORDS else 1.0)
        for word, times in found.items()
    }


def coverage(
    turn: TurnFeatures, weights: dict[str, float], is_known: Callable[[str], bool]
) -> float:
    """Returns the share of a turn's words, by weight, for which `is_known` is true."""
    whole = shared = 0.0
    for word, times in turn.terms.items():
        weight = times * weights[word]
        whole += weight
        if is_known(word):
            shared += weight
    return shared / whole if whole else 0.0


def on_task(turns: Sequence[TurnFeatures], noise: Sequence[bool]) -> list[bool]:
    """Returns for each turn whether it serves the task of the first one. Noise never does."""
    weights = word_weights(turns)
    working = [index for index in range(len(turns)) if not noise[index]]
    task = [not noise[index] and not turns[index].aside for index in range(len(turns))]
    for _ in range(_ROUNDS):
        ties = _ties(turns, task, weights)
        path = _best_path([turns[p] for p in working], [ties[p] for p in working], weights)
        found = [False] * len(turns)
        for index, is_on in zip(working, path, strict=True):
            found[index] = is_on
        if found == task:
            break
        task = found
    return task


class _Tie(NamedTuple):
    """What a turn shares with the other turns of the task, and how many of them there are."""

    share: float
    others: int


def _ties(
    turns: Sequence[TurnFeatures], task: Sequence[bool], weights: dict[str, float]
) -> list[_Tie]:
    """Returns what each turn shares with the other turns of the task, without its neighbours.

    `_follows` scores what it shares with the turn before it.
    """
    served = [turn for turn, is_on in zip(turns, task, strict=True) if is_on]
    words = Counter(word for turn in served for word in turn.terms)
    files = Counter(file for turn in served for file in turn.files)
    ties: list[_Tie] = []
    for index, turn in enumerate(turns):
        near = range(max(0, index - _NEIGHBOURS), min(len(turns), index + _NEIGHBOURS + 1))
        neighbours = [turns[p] for p in near if task[p]]

        def is_known(word: str, neighbours: list[TurnFeatures] = neighbours) -> bool:
            elsewhere = words[word]
            for each in neighbours:
                if word in each.terms:
                    elsewhere -= 1
            return elsewhere > 0

        has_task_file = any(
            files[f] > sum(f in each.files for each in neighbours) for f in turn.files
        )
        has_other_files = bool(turn.files) and not has_task_file and not turn.made
        share = (
            coverage(turn, weights, is_known)
            + _SAME_FILE * has_task_file
            + _OTHER_FILES * has_other_files
        )
        ties.append(_Tie(share, len(served) - len(neighbours)))
    return ties


def _best_path(
    turns: Sequence[TurnFeatures], ties: Sequence[_Tie], weights: dict[str, float]
) -> list[bool]:
    """Returns the best path through the turns, on the task (True) or off it; it starts on it."""
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
        fits = _fits(turn, tie, limit) + _MARKER * turn.returns
        scores = {True: best[True][0] + fits, False: best[False][0] + _MARKER * turn.aside}
    path = [scores[True] >= scores[False]] if turns else []
    for step in reversed(came_from):
        path.append(step[path[-1]])
    return path[::-1]


def _fits(turn: TurnFeatures, tie: _Tie, limit: float) -> float:
    """Returns the score of a turn's words: above 0 for the task, below 0 against it.

    A turn of few words scores little. New words count against the task only if there are enough
    other turns, because at the beginning of a session everything is new.
    """
    evidence = min(1.0, len(turn.subject) / _NEW_SUBJECT_WORDS) * min(
        1.0, len(turn.terms) / _EVIDENCE_WORDS
    )
    fit = _SHARPNESS * (tie.share - limit) * evidence
    return fit if fit > 0 else fit * min(1.0, tie.others / _MIN_OTHER_TURNS)


def _limit(shared: Sequence[float]) -> float:
    """Returns the share that a turn on the task needs, from the median of the session."""
    middle = sorted(shared)[len(shared) // 2] if shared else 0.0
    return min(_MAX_LIMIT, max(_MIN_LIMIT, _MEDIAN_SHARE * middle))


def _follows(turn: TurnFeatures, before: TurnFeatures, weights: dict[str, float]) -> float:
    """Returns how much a turn refers to the turn before it; a short prompt always does."""
    own = turn.subject
    shared = len(own & before.seen) / min(len(own), _SHORT_PROMPT) if own else 0.0
    repeated = coverage(turn, weights, before.seen.__contains__)
    same_file = _SHARED_FILE * bool(turn.files & before.files)
    references = _FOLLOW_UP * max(0, _SHORT_PROMPT - len(own)) + _REFERRING * turn.refers
    return min(1.0, shared) + repeated + same_file + references


def find_noise(turns: Sequence[TurnFeatures]) -> list[bool]:
    """Returns for each turn whether it is small talk."""
    weights = word_weights(turns)
    times = Counter(word for turn in turns for word in turn.terms)
    return [_is_noise(turn, coverage(turn, weights, lambda w: times[w] > 1)) for turn in turns]


def _is_noise(turn: TurnFeatures, covered: float) -> bool:
    """Whether a turn is small talk. `covered` is the share of its words that other turns have.

    Small talk has chat or words of everyday life, no tool call, and few other words.
    """
    if turn.tools:
        return False
    score = (
        2 * turn.chatty
        + min(3, turn.everyday)
        + (covered < _LOW_COVERAGE)
        - turn.refers * (1 + (turn.rest > 0))
        - 2 * (turn.reply_words > _LONG_REPLY)
        - (turn.rest > 2)
        - (turn.rest > 4)
        - turn.technical
    )
    return score >= _NOISE_SCORE
