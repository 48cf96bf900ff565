"""Secrets and ordinary texts written by somebody who had not seen the rules.

The values are stored backwards, so that no scanner reports the files. When the rules met these
texts for the first time, 12 of 95 secrets were left visible and 0 of 60 ordinary texts were masked;
the misses were looked at since then.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from bench.secret_forms import Sample

__all__ = ["ordinary_of_strangers", "secrets_of_strangers"]

_FOLDER = Path(__file__).parent


def secrets_of_strangers() -> Iterator[Sample]:
    """Yields every text with a secret."""
    for number, row in enumerate(_rows("secret_forms_of_strangers.jsonl")):
        yield Sample(f"of strangers {number}", row["text"], row["secret"])


def ordinary_of_strangers() -> Iterator[str]:
    """Yields every text without a secret."""
    for row in _rows("ordinary_texts_of_strangers.jsonl"):
        yield row["text"]


def _rows(name: str) -> Iterator[dict[str, str]]:
    for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines():
        yield {key: value[::-1] for key, value in json.loads(line).items()}
