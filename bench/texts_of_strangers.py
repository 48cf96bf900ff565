"""Secrets and ordinary texts, written by two people who had not seen the rules.

The values are stored backwards, so that no scanner reports the files. When the rules met the texts
of the first for the first time, 12 of 95 secrets were left visible and 0 of 60 ordinary texts were
masked. With those of the second it was 22 of 223, and 4 of 169. After rules were made for one half
of these 22, in which 9 were, 10 of the 13 in the other half were still visible. All misses were
looked at since then.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from bench.secret_forms import Sample

_FOLDER = Path(__file__).parent


def secrets_of_strangers() -> Iterator[Sample]:
    """Yields every text with a secret."""
    names = ("secret_forms_of_strangers.jsonl", "secret_forms_of_other_strangers.jsonl")
    for number, row in enumerate(row for name in names for row in _rows(name)):
        yield Sample(f"of strangers {number}", row["text"], row["secret"])


def ordinary_of_strangers() -> Iterator[str]:
    """Yields every text without a secret."""
    for name in ("ordinary_texts_of_strangers.jsonl", "ordinary_texts_of_other_strangers.jsonl"):
        yield from (row["text"] for row in _rows(name))


def _rows(name: str) -> Iterator[dict[str, str]]:
    for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines():
        yield {key: value[::-1] for key, value in json.loads(line).items()}
