"""The error of each counter, per message, against the exact counts of twelve vocabularies.

Calibration learns as in use: from the totals of a growing request, reported once for each message,
over a conversation of `fit` messages of all kinds. Only `score` messages are scored. The weights of
the estimator also come from `fit` messages, and from nine of the vocabularies; `--fit` computes
them again and prints them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, zip_longest
from statistics import fmean
from typing import NamedTuple

from bench import token_weights
from bench.corpora import KINDS, read
from bench.kept_figures import figure
from sapwood.core.token_count import Calibration, Counter
from sapwood.tokens.counters import ExactCounter, counter_for
from sapwood.tokens.estimators import Chars4Counter, FeatureCounter

LIMIT = 8.0
DEFAULT = "features, calibrated"
COUNTERS = ("chars4", "chars4, calibrated", "features", DEFAULT, "exact")

# A model for each vocabulary: the way from a model's name to its counter is measured too.
MODELS = {
    "o200k_base": "gpt-4o",
    "cl100k_base": "gpt-4",
    "llama3": "llama-3.3-70b",
    "qwen3": "qwen3-32b",
    "glm4": "glm-4.5",
    "kimi_k2": "kimi-k2",
    "deepseek_v3": "deepseek-v3",
    "mistral_v3": "mistral-nemo",
    "gemma3": "gemma-3-27b",
    "gemma2": "gemma-2-9b",
    "mistral_v2": "mistral-7b-v0.3",
    "llama2": "llama-2-7b",
}


class Reading(NamedTuple):
    """The error of one counter on one message, in percent of its tokens in one vocabulary."""

    vocabulary: str
    kind: str
    counter: str
    error: float


def main(argv: list[str]) -> int:
    """Prints the errors, the vocabularies, the speed and the figure."""
    if "--fit" in argv:
        return token_weights.main()
    ratios = {name: learnt(FeatureCounter(), ExactCounter(name)).ratio for name in MODELS}
    readings = [reading for name in MODELS for reading in readings_of(name)]
    print_counters(readings)
    print_vocabularies(readings, ratios)
    print_speed(seconds=0.2 if "--quick" in argv else 2.0)
    error = mean_error(readings, counter=DEFAULT)
    figure("tokens: error, percent", error)
    print(f"calibrated default: {error:.1f} % mean error per message (limit {LIMIT:.0f} %)")
    return int(error > LIMIT or mean_error(readings, counter="exact") > 0)


def learnt(counter: Counter, reference: Counter) -> Calibration:
    """The calibration after a whole conversation, with one request for each message."""
    by_kind = [read(kind, "fit") for kind in KINDS]
    texts = [m.text for m in chain.from_iterable(zip_longest(*by_kind)) if m is not None]
    calibration = Calibration()
    for estimated, reported in zip(totals(counter, texts), totals(reference, texts), strict=True):
        calibration = calibration.observe(estimated, reported)
    return calibration


def totals(counter: Counter, texts: Sequence[str]) -> Iterator[int]:
    """The tokens of each request, which has all messages so far."""
    return accumulate(counter.count(text).tokens for text in texts)


def readings_of(vocabulary: str) -> Iterator[Reading]:
    """The errors of every counter on every scored message."""
    reference = ExactCounter(vocabulary)
    counters = counters_for(vocabulary, reference)
    for kind in (*KINDS, "languages"):
        for message in read(kind, "score"):
            tokens = reference.count(message.text).tokens
            for name, count in counters.items():
                error = abs(count(message.text) - tokens) / tokens * 100
                yield Reading(vocabulary, kind, name, error)


def counters_for(vocabulary: str, reference: Counter) -> dict[str, Callable[[str], int]]:
    """The counters in the order of their rows."""
    plain, features, exact = Chars4Counter(), FeatureCounter(), counter_for(MODELS[vocabulary])
    plain_ratio, features_ratio = learnt(plain, reference), learnt(features, reference)
    counts: tuple[Callable[[str], int], ...] = (
        lambda text: plain.count(text).tokens,
        lambda text: plain_ratio.apply(plain.count(text).tokens),
        lambda text: features.count(text).tokens,
        lambda text: features_ratio.apply(features.count(text).tokens),
        lambda text: exact.count(text).tokens,
    )
    return dict(zip(COUNTERS, counts, strict=True))


def mean_error(
    readings: Sequence[Reading], *, counter: str, kind: str = "", vocabulary: str = ""
) -> float:
    """The mean over all messages and vocabularies, or over those of one kind or vocabulary.

    Other languages have their own line and are not part of the mean over all kinds.
    """
    return fmean(
        reading.error
        for reading in readings
        if reading.counter == counter
        and (reading.kind == kind if kind else reading.kind in KINDS)
        and (not vocabulary or reading.vocabulary == vocabulary)
    )


def print_counters(readings: Sequence[Reading]) -> None:
    """Prints one row for each counter and one column for each kind."""
    print("mean error per message, %")
    print(f"{'counter':<22}" + "".join(f"{kind:>10}" for kind in KINDS) + f"{'overall':>10}")
    sizes = [len(read(kind, "score")) for kind in KINDS]
    print(f"{'(messages scored)':<22}" + "".join(f"{n:>10}" for n in (*sizes, sum(sizes))))
    for counter in COUNTERS:
        cells = [mean_error(readings, counter=counter, kind=kind) for kind in KINDS]
        cells.append(mean_error(readings, counter=counter))
        print(f"{counter:<22}" + "".join(f"{cell:>10.1f}" for cell in cells))
    others = mean_error(readings, counter=DEFAULT, kind="languages")
    print(f"outside the six kinds: ten other languages and emoji, {DEFAULT}: {others:.1f}\n")


def print_vocabularies(readings: Sequence[Reading], ratios: dict[str, float]) -> None:
    """Prints one row for each vocabulary."""
    print(f"{'vocabulary':<22}{'ratio':>10}{'features':>10}{'calibrated':>12}")
    for name, ratio in ratios.items():
        raw = mean_error(readings, counter="features", vocabulary=name)
        calibrated = mean_error(readings, counter=DEFAULT, vocabulary=name)
        note = "" if name in token_weights.SEEN else "   not used for the weights"
        print(f"{name:<22}{ratio:>10.2f}{raw:>10.1f}{calibrated:>12.1f}{note}")
    print()


def print_speed(seconds: float) -> None:
    """Prints the megabytes counted per second, message by message."""
    texts = [message.text for kind in KINDS for message in read(kind, "score")]
    size = sum(len(text.encode()) for text in texts) / 1e6
    for label, counter in (("features", FeatureCounter()), ("exact", ExactCounter("o200k_base"))):
        rounds, started = 0, time.perf_counter()
        while (passed := time.perf_counter() - started) < seconds:
            for text in texts:
                counter.count(text)
            rounds += 1
        print(f"{label}: {size * rounds / passed:.1f} MB/s")
