"""Reads the labelled sessions of `evals/sessions`."""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from sapwood.analysis.session import Session
from sapwood.programs.transcripts.session_reader import read_session

FOLDER = Path(__file__).parent / "sessions"
SessionSet = Literal["tuned", "held_out"]
SETS: tuple[SessionSet, ...] = ("tuned", "held_out")


class TurnLabel(Struct, frozen=True):
    """The topic and the status of a turn; the status compares it with the first request."""

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
    """A command that ran, and its outcome."""

    command: str
    outcome: str
    turn: int


class FailingLabel(Struct, frozen=True):
    """A command that fails at the end. Finding an `optional` one is neither right nor wrong."""

    command: str
    tests: list[str] = []
    optional: bool = False


class SentenceLabel(Struct, frozen=True):
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
    decisions: list[SentenceLabel]
    questions: list[SentenceLabel]
    last_request: str


class LabelledSession(Struct, frozen=True):
    """A session with its labels."""

    name: str
    session: Session
    labels: Labels


def read_set(chosen: SessionSet) -> list[LabelledSession]:
    """Returns the sessions of a set, sorted by name."""
    found: list[LabelledSession] = []
    for path in sorted((FOLDER / chosen).glob("*.labels.json")):
        name = path.name.removesuffix(".labels.json")
        labels = msgspec.json.decode(path.read_bytes(), type=Labels)
        found.append(LabelledSession(name, read_session(path.with_name(f"{name}.jsonl")), labels))
    return found
