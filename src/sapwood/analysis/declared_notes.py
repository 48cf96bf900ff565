"""What people and agents declared about a session, ranked above anything that rules derive.

Notes are in the log of the session's agent. Plans and to-do lists are in the transcript: the
programs let the model keep them with a tool.
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

from sapwood.analysis.judgement.judged_entries import said_words, with_judged
from sapwood.analysis.ledger.entries import Decision, Ledger, Question, Speaker
from sapwood.analysis.session import Session
from sapwood.core.state import DeclaredNote, Judgement

_PLAN_TOOLS = {"todowrite": ("todos", "content"), "updateplan": ("plan", "step")}
"""The tools that keep a plan: the list in their arguments, and the text of an entry."""
_MAX_STEPS = 40
_STEP_LENGTH = 200
_MAX_GOALS = 8


class PlanStep(Struct, frozen=True):
    """A step of the newest plan, and its status in the words of the program."""

    text: str
    status: str


def plan_of(session: Session) -> tuple[PlanStep, ...]:
    """Returns the newest plan or to-do list that the program's model kept; empty if there is none.

    A list that cannot be read is passed over, and so is one that was rewound.
    """
    for _, turn in reversed(session.live):
        for call in reversed(list(turn.calls.values())):
            known = _PLAN_TOOLS.get(call.name.replace("_", "").casefold())
            if known and (steps := _steps(call.args, *known)) is not None:
                return steps
    return ()


def goals_of(notes: Sequence[DeclaredNote]) -> tuple[str, ...]:
    """Returns the declared goals, the newest first."""
    goals = [each.text for each in reversed(notes) if each.note == "goal"]
    return tuple(dict.fromkeys(goals))[:_MAX_GOALS]


def stated_ledger(
    ledger: Ledger, session: Session, notes: Sequence[DeclaredNote], judged: Judgement
) -> Ledger:
    """Returns the ledger with what a judge said above what rules derived, and notes above both."""
    if judged.sentences:
        from sapwood.analysis.ledger.decisions import candidates

        typed = {said_words(each.text): each.turn for each in candidates(session)}
        last = _turn_at(session, judged.at)
        ledger = with_judged(ledger, judged.sentences, last, typed)
    return with_notes(ledger, session, notes)


def with_notes(ledger: Ledger, session: Session, notes: Sequence[DeclaredNote]) -> Ledger:
    """Returns the ledger with the declared decisions, answers and questions as the newest."""
    declared = [
        Decision(
            each.text,
            _turn_at(session, each.at),
            _speaker(each),
            about=each.about,
            source="declared",
        )
        for each in notes
        if each.note in ("decision", "answer")
    ]
    asked = [
        Question(each.text, _turn_at(session, each.at), _speaker(each), source="declared")
        for each in notes
        if each.note == "question"
    ]
    said = {each.text.casefold() for each in (*declared, *asked)}
    answered = {each.about.casefold() for each in notes if each.about}
    return structs.replace(
        ledger,
        decisions=(
            *(each for each in ledger.decisions if each.text.casefold() not in said),
            *declared,
        ),
        questions=(
            *(each for each in ledger.questions if each.text.casefold() not in said | answered),
            *asked,
        ),
    )


def _speaker(note: DeclaredNote) -> Speaker:
    return "model" if note.by == "model" else "user"


def _turn_at(session: Session, at: int) -> int:
    """The number of the turn in which something was said; the last if no times are known."""
    numbers = session.numbers
    before = [number for number, time in zip(numbers, session.times, strict=False) if time <= at]
    return before[-1] if before else numbers[-1] if numbers else 0


def _steps(args: str, listed: str, text: str) -> tuple[PlanStep, ...] | None:
    try:
        found: Any = msgspec.json.decode(args)
    except msgspec.MsgspecError:
        return None
    entries: Any = cast("dict[str, Any]", found).get(listed) if isinstance(found, dict) else None
    if not isinstance(entries, list):
        return None
    steps: list[PlanStep] = []
    for each in cast("list[Any]", entries)[:_MAX_STEPS]:
        step = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        words = step.get(text)
        if isinstance(words, str):
            line = " ".join(words.split())[:_STEP_LENGTH]
            steps.append(PlanStep(line, str(step.get("status", ""))))
    return tuple(steps)
