"""Counts and durations of this process, in the text format that Prometheus reads.

Every process has one set of them, `METRICS`. Names of models and tools come from users and models,
so each metric keeps a limited number of them and counts the others as `other`.
"""

import math
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from msgspec import Struct

_BUCKETS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_FINE_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_FINE = frozenset(
    {"sapwood_commit_seconds", "sapwood_pool_wait_seconds", "sapwood_follower_lag_seconds"}
)
"""Histograms of durations that are usually milliseconds."""

_MAX_LABELS = 200
"""The most sets of labels of one metric."""

DESCRIBED = {
    "sapwood_turns_total": ("counter", "Turns that ended in this process, by status."),
    "sapwood_turns_running": ("gauge", "Turns that this process is running."),
    "sapwood_turn_seconds": (
        "histogram",
        "Duration of turns, or of the part that ran in this process.",
    ),
    "sapwood_model_calls_total": ("counter", "Model calls, by model and outcome."),
    "sapwood_model_call_seconds": ("histogram", "Duration of model calls, including retries."),
    "sapwood_tokens_total": ("counter", "Tokens that providers reported, by model and kind."),
    "sapwood_cost_dollars_total": ("counter", "Cost of model calls in dollars, by model."),
    "sapwood_tool_calls_total": ("counter", "Tool calls, by tool and outcome."),
    "sapwood_tool_seconds": ("histogram", "Duration of tool calls."),
    "sapwood_compactions_total": ("counter", "Summaries that replaced turns, by outcome."),
    "sapwood_http_requests_total": ("counter", "HTTP requests, by method and status."),
    "sapwood_http_seconds": ("histogram", "Time until the response to a request started."),
    "sapwood_router_requests_total": (
        "counter",
        "Requests that a router sent to cells, by cell and status.",
    ),
    "sapwood_router_refused_total": (
        "counter",
        "Requests that a router could not send to a cell, by problem.",
    ),
    "sapwood_router_moves_total": ("counter", "Spaces that a router followed, by new cell."),
    "sapwood_open_turns": ("gauge", "Agents with work to do in the served spaces, by space."),
    "sapwood_oldest_waiting_seconds": (
        "gauge",
        "Age of the turn that has waited longest for a worker, by space.",
    ),
    "sapwood_oldest_running_seconds": (
        "gauge",
        "Age of the drive that has run longest in any worker, by space.",
    ),
    "sapwood_claim_wait_seconds": (
        "histogram",
        "Time that agents waited for a free place or for a limit before this worker took them.",
    ),
    "sapwood_commit_seconds": ("histogram", "Time until a commit was stored."),
    "sapwood_pool_wait_seconds": ("histogram", "Time that reads waited for a connection."),
    "sapwood_follower_lag_seconds": (
        "histogram",
        "Time from an event until this process passed it on to subscribers.",
    ),
    "sapwood_database_up": ("gauge", "Whether the database answered the last check."),
    "sapwood_info": ("gauge", "The version of Sapwood; always 1."),
}

"""Every metric: its kind, and its description."""

Labels = tuple[tuple[str, str], ...]


class Sample(Struct, frozen=True):
    """One number of a metric: its name, its kind, its labels and its value."""

    name: str
    kind: str
    labels: Labels
    value: float


class _Durations(Struct):
    """How many durations are in each bucket of a histogram alone, and their sum."""

    counts: list[int]
    total: float = 0.0


class Metrics:
    """The numbers of a process. May be used from any thread.

    >>> metrics = Metrics()
    >>> metrics.add("sapwood_turns_total", 2, status="completed")
    >>> print(metrics.text())
    # HELP sapwood_turns_total Turns that ended in this process, by status.
    # TYPE sapwood_turns_total counter
    sapwood_turns_total{status="completed"} 2
    <BLANKLINE>
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, dict[Labels, float]] = {}
        self._durations: dict[str, dict[Labels, _Durations]] = {}

    def add(self, name: str, value: float = 1, **labels: str) -> None:
        """Adds to a counter or a gauge."""
        with self._lock:
            values = self._values.setdefault(_described(name), {})
            key = _limited(values, labels)
            values[key] = values.get(key, 0.0) + value

    def set(self, name: str, value: float, **labels: str) -> None:
        """Sets a gauge."""
        with self._lock:
            values = self._values.setdefault(_described(name), {})
            values[_limited(values, labels)] = value

    def clear(self, name: str) -> None:
        """Removes all values of a gauge, before they are set anew."""
        with self._lock:
            self._values.pop(name, None)

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Adds a duration to a histogram."""
        with self._lock:
            found = self._durations.setdefault(_described(name), {})
            key = _limited(found, labels)
            bounds, durations = _buckets(name), found.get(key)
            if durations is None:
                durations = found[key] = _Durations([0] * (len(bounds) + 1))
            durations.total += seconds
            durations.counts[bisect_left(bounds, seconds)] += 1

    def samples(self) -> list[Sample]:
        """All numbers; a histogram gives its buckets, sum and count."""
        with self._lock:
            return [*self._plain(), *self._histograms()]

    def _plain(self) -> Iterator[Sample]:
        for name, values in self._values.items():
            for labels, value in values.items():
                yield Sample(name, DESCRIBED[name][0], labels, value)

    def _histograms(self) -> Iterator[Sample]:
        for name, found in self._durations.items():
            for labels, durations in found.items():
                bounds = [*(f"{bound:g}" for bound in _buckets(name)), "+Inf"]
                counts = list(accumulate(durations.counts))
                for bound, count in zip(bounds, counts, strict=True):
                    yield Sample(f"{name}_bucket", "histogram", (*labels, ("le", bound)), count)
                yield Sample(f"{name}_sum", "histogram", labels, durations.total)
                yield Sample(f"{name}_count", "histogram", labels, counts[-1])

    def text(self) -> str:
        """All numbers in the text format of Prometheus, version 0.0.4."""
        lines: list[str] = []
        described = ""
        for sample in self.samples():
            name = _metric_of(sample)
            if name != described:
                kind, what = DESCRIBED[name]
                lines += [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]
                described = name
            lines.append(f"{sample.name}{_shown(sample.labels)} {_number(sample.value)}")
        return "".join(f"{line}\n" for line in lines)


def _buckets(name: str) -> tuple[float, ...]:
    return _FINE_BUCKETS if name in _FINE else _BUCKETS


def _described(name: str) -> str:
    if name not in DESCRIBED:  # found by whoever counts it, not by every reader of the numbers
        raise ValueError(f"{name} has no line in DESCRIBED.")
    return name


def _limited(known: Mapping[Labels, object], labels: Mapping[str, str]) -> Labels:
    key = tuple(sorted(labels.items()))
    if key in known or len(known) < _MAX_LABELS:
        return key
    return tuple((name, "other") for name, _ in key)


def _metric_of(sample: Sample) -> str:
    if sample.kind != "histogram":
        return sample.name
    return sample.name.rpartition("_")[0]


def _shown(labels: Iterable[tuple[str, str]]) -> str:
    shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{shown}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


METRICS = Metrics()
"""The numbers of this process."""
