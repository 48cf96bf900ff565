"""Fits the weights of the feature estimator, by least squares of the relative error.

The first pass uses the six kinds and fits all features that are frequent in them. The second pass
uses the sample of other languages, keeps these weights fixed and fits the rest. Only `fit` messages
are used, and only vocabularies of current models; the older ones are not used.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from bench.corpora import KINDS, Message, read
from sapwood.tokens.counters import ExactCounter
from sapwood.tokens.estimators import FEATURES, classes_of, features_of, shapes_of

SEEN = (
    "o200k_base",
    "cl100k_base",
    "llama3",
    "qwen3",
    "glm4",
    "kimi_k2",
    "deepseek_v3",
    "mistral_v3",
    "gemma3",
)
OF_OTHER_LANGUAGES = ("accented", "alphabet", "kana", "hangul", "brahmic", "emoji")


class Row(NamedTuple):
    """The features of a message, and its tokens in one vocabulary."""

    features: dict[str, int]
    tokens: int


def fit() -> dict[str, int]:
    """The weight of each feature, in hundredths of a token."""
    common = [name for name in FEATURES if name not in OF_OTHER_LANGUAGES]
    messages = [message for kind in KINDS for message in read(kind, "fit")]
    weights = _least_squares(_rows(messages), common, {})
    others = _rows(read("languages", "fit"))
    weights |= _least_squares(others, OF_OTHER_LANGUAGES, weights)
    return {name: round(weights[name] * 100) for name in FEATURES}


def main() -> int:
    """Prints the weights as the estimator has them."""
    for name, weight in fit().items():
        print(f'    "{name}": {weight},')
    return 0


def _rows(messages: Sequence[Message]) -> list[Row]:
    counters = [ExactCounter(name) for name in SEEN]
    return [
        Row(_features(message.text), counter.count(message.text).tokens)
        for message in messages
        for counter in counters
    ]


def _features(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for shape, times in Counter(shapes_of(classes_of(text))).items():
        for name, count in features_of(shape).items():
            found[name] = found.get(name, 0) + count * times
    return found


def _least_squares(
    rows: Sequence[Row], names: Sequence[str], fixed: dict[str, float]
) -> dict[str, float]:
    """The weights that bring estimate / tokens nearest to 1; those in `fixed` do not change."""
    matrix = [[0.0] * len(names) for _ in names]
    vector = [0.0] * len(names)
    for features, tokens in rows:
        explained = sum(fixed.get(name, 0.0) * count for name, count in features.items())
        present = [(i, features[name] / tokens) for i, name in enumerate(names) if name in features]
        for i, share in present:
            vector[i] += share * (1 - explained / tokens)
            for j, other in present:
                matrix[i][j] += share * other
    return dict(zip(names, _solve(matrix, vector), strict=True))


def _solve(matrix: list[list[float]], vector: list[float]) -> list[float]:
    """Gaussian elimination; the matrix is small, symmetric and positive."""
    rows = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    for pivot in range(len(rows)):
        for below in range(pivot + 1, len(rows)):
            factor = rows[below][pivot] / rows[pivot][pivot]
            for column in range(pivot, len(rows) + 1):
                rows[below][column] -= factor * rows[pivot][column]
    solution = [0.0] * len(rows)
    for pivot in reversed(range(len(rows))):
        rest = sum(rows[pivot][c] * solution[c] for c in range(pivot + 1, len(rows)))
        solution[pivot] = (rows[pivot][-1] - rest) / rows[pivot][pivot]
    return solution
