"""The figures of the benchmarks, kept in bench/kept.json, so that none gets worse unseen.

A benchmark gives its figures to `figure`: ratios, bytes and counts, which do not depend on the
machine. A full run compares them with the kept ones. `python -m bench NAME --keep` writes those of
this run; a commit that keeps a worse one says why.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

KEPT = Path(__file__).with_name("kept.json")
MAX_WORSE = 0.15
"""By how much a figure may be worse than the kept one. Two runs of one version differ by less."""


class Figure(Struct, frozen=True):
    """A figure, and whether less or more of it is better."""

    value: float
    better: Literal["less", "more"] = "less"

    def worse_by(self, kept: float) -> float:
        """The share by which this is worse than the kept value; negative if it is better.

        >>> round(Figure(1.2).worse_by(1.0), 2), round(Figure(0.8, "more").worse_by(1.0), 2)
        (0.2, 0.25)
        """
        if self.better == "less":
            return self.value / kept - 1 if kept else float(self.value > 0)
        return kept / self.value - 1 if self.value else float(kept > 0)


_taken: dict[str, Figure] = {}


def figure(name: str, value: float, better: Literal["less", "more"] = "less") -> None:
    """Takes a figure of this run."""
    _taken[name] = Figure(round(value, 4), better)


def taken() -> Mapping[str, Figure]:
    """The figures of this run."""
    return _taken


def worse(figures: Mapping[str, Figure], kept: Mapping[str, float]) -> Iterator[str]:
    """A sentence for each figure that is too much worse than the kept one, or not kept yet."""
    for name, it in sorted(figures.items()):
        if name not in kept:
            yield f"{name}: {it.value:g} is not kept yet; run it with --keep"
        elif it.worse_by(kept[name]) > MAX_WORSE:
            yield f"{name}: {it.value:g} is {it.worse_by(kept[name]):.0%} worse than {kept[name]:g}"


def read_kept(path: Path = KEPT) -> dict[str, float]:
    """The kept figures by name."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, float]) if path.exists() else {}


def keep(figures: Mapping[str, Figure], path: Path = KEPT) -> None:
    """Writes these figures in place of the kept ones of the same name."""
    kept = read_kept(path) | {name: it.value for name, it in figures.items()}
    encoded = msgspec.json.encode(dict(sorted(kept.items())))
    path.write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")
