"""Reads the sessions whose decisions and questions are labelled by quotes.

Turns of these labels are counted from 0. `strangers` were written and labelled by other people, and
the rules were tuned on them. `quoted_tuned` and `quoted_held_out` were written for these evals; no
rule was tuned on the held-out ones.
"""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from sapwood.analysis.session import Session
from sapwood.programs.transcripts.session_reader import read_session

FOLDER = Path(__file__).parent / "sessions"
QuotedSet = Literal["strangers", "quoted_tuned", "quoted_held_out"]
QUOTED_SETS: tuple[QuotedSet, ...] = ("strangers", "quoted_tuned", "quoted_held_out")


class QuotedLabel(Struct, frozen=True):
    """A decision or an open question; `quotes` are the places where it was said, any one counts.

    A label of `neither` is right or wrong by opinion: finding it counts neither way.
    """

    turn: int
    quotes: tuple[str, ...]
    question: str = ""
    answer: str = ""
    reversed_by: int | None = None
    why: str = ""


class QuotedFiles(Struct, frozen=True):
    """The net effect on files; `optional` counts neither way."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


class PastedSpan(Struct, frozen=True):
    """Lines of a prompt that were pasted, counted from 1."""

    turn: int
    first_line: int
    last_line: int
    kind: str = ""


class Fact(Struct, frozen=True):
    """A fact that a recap should hold, in the words in which it was said."""

    turn: int
    quote: str
    text: str


class QuotedLabels(Struct, frozen=True):
    """All labels of a session. `failing` are parts of the commands that fail at the end."""

    manner: str
    tuned: str
    decisions: tuple[QuotedLabel, ...]
    neither: tuple[QuotedLabel, ...]
    questions: tuple[QuotedLabel, ...]
    files: QuotedFiles
    failing: tuple[str, ...]
    pasted: tuple[PastedSpan, ...]
    last_request: str
    facts: tuple[Fact, ...] = ()


class QuotedSession(Struct, frozen=True):
    """A session with its labels."""

    name: str
    session: Session
    labels: QuotedLabels


def read_quoted(chosen: QuotedSet) -> list[QuotedSession]:
    """Returns the sessions of a set, sorted by name."""
    found: list[QuotedSession] = []
    for path in sorted((FOLDER / chosen).glob("*.labels.json")):
        name = path.name.removesuffix(".labels.json")
        labels = msgspec.json.decode(path.read_bytes(), type=QuotedLabels)
        found.append(QuotedSession(name, read_session(path.with_name(f"{name}.jsonl")), labels))
    return found
