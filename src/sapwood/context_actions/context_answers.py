"""The typed answers of context actions. Each one encodes to JSON as it is."""

from msgspec import Struct

from sapwood.analysis.chapter_report import ChapterReport
from sapwood.analysis.declared_notes import PlanStep
from sapwood.analysis.focus import FocusStack
from sapwood.analysis.handoff import Handoff
from sapwood.analysis.ledger.entries import Ledger
from sapwood.analysis.prune_advice import PruneAdvice
from sapwood.analysis.session_search import SearchPassage
from sapwood.analysis.window_breakdown import Breakdown, Estimate
from sapwood.core.state import DeclaredNote


class WrittenArchive(Struct, frozen=True):
    """One archive. If it was not stored, `path` is empty and `text` is its content."""

    topic: str
    turns: tuple[int, ...]
    tokens: int
    exact: bool
    path: str = ""
    text: str = ""


class WrittenArchives(Struct, frozen=True):
    """The archives that an action made."""

    archives: tuple[WrittenArchive, ...]


class ResumptionPrompt(Struct, frozen=True):
    """A prompt that lets a model continue a session, and its size."""

    prompt: str
    tokens: int
    exact: bool
    session: str = ""


class WrittenHandoff(Struct, frozen=True):
    """A handoff to another agent. If it was not stored, `path` is empty."""

    handoff: Handoff
    text: str
    path: str = ""


class SessionSearchResults(Struct, frozen=True):
    """The places where the words were found."""

    hits: tuple[SearchPassage, ...]


class Notes(Struct, frozen=True):
    """The active notes, the oldest first, and the plan that the program's model keeps."""

    notes: tuple[DeclaredNote, ...]
    plan: tuple[PlanStep, ...] = ()


ContextAnswer = (
    Estimate
    | Breakdown
    | Ledger
    | FocusStack
    | WrittenArchives
    | ResumptionPrompt
    | PruneAdvice
    | ChapterReport
    | WrittenHandoff
    | SessionSearchResults
    | Notes
)
