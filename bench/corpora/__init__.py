"""Sample messages of the kinds found in agent conversations; README.md names their sources."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["KINDS", "Message", "Part", "read"]

KINDS = ("code", "diffs", "json", "terminal", "english", "chinese")

# `fit` messages may teach weights and ratios; `score` messages are only ever measured.
Part = Literal["fit", "score"]


@dataclass(frozen=True)
class Message:
    """One message: what it is a sample of, where it is from, and its text."""

    kind: str
    source: str
    text: str


def read(kind: str, part: Part) -> list[Message]:
    """The messages of one kind in one part, in the order of the file."""
    lines = Path(__file__).with_name(f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, str]] = [json.loads(line) for line in lines]
    return [Message(kind, row["source"], row["text"]) for row in rows if row["part"] == part]
