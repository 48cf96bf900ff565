"""The labelled sessions, as they stand in `evals/sessions`."""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from sapwood.core.session import Session
from sapwood.sources import read_session

__all__ = ["SETS", "Labelled", "Labels", "Set", "read_set"]

FOLDER = Path(__file__).parent / "sessions"
Set = Literal["tuned", "held_out"]
SETS: tuple[Set, ...] = ("tuned", "held_out")


class TurnLabel(Struct, frozen=True):
    """What a turn was about, against the first request."""

    turn: int
    topic: str
    status: str


class FileLabel(Struct, frozen=True):
    """A file."""

    path: str


class FileLabels(Struct, frozen=True):
    """Files by kind."""

    read: list[FileLabel]
    created: list[FileLabel]
    changed: list[FileLabel]
    deleted: list[FileLabel]


class CommandLabel(Struct, frozen=True):
    """A command that ran and how it ended."""

    command: str
    outcome: str
    turn: int


class FailingLabel(Struct, frozen=True):
    """What fails at the end. Finding one that is `optional` is neither right nor wrong."""

    command: str
    tests: list[str] = []
    optional: bool = False


class SaidLabel(Struct, frozen=True):
    """A decision or an open question."""

    text: str
    turn: int
    reversed_by: int | None = None
    optional: bool = False


class Labels(Struct, frozen=True):
    """All labels of a session."""

    kind: str
    how: str
    task: str
    turns: list[TurnLabel]
    files: FileLabels
    commands: list[CommandLabel]
    failing: list[FailingLabel]
    decisions: list[SaidLabel]
    questions: list[SaidLabel]
    last_request: str


class Labelled(Struct, frozen=True):
    """A session with its labels."""

    name: str
    session: Session
    labels: Labels


def read_set(chosen: Set) -> list[Labelled]:
    """Every session of a set, by name."""
    found: list[Labelled] = []
    for path in sorted((FOLDER / chosen).glob("*.labels.json")):
        name = path.name.removesuffix(".labels.json")
        labels = msgspec.json.decode(path.read_bytes(), type=Labels)
        found.append(Labelled(name, read_session(path.with_name(f"{name}.jsonl")), labels))
    return found
