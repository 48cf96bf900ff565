"""What was declared outranks what rules derive; plans of programs are read."""

import pytest

from sapwood.analysis.declared_notes import PlanStep, goals_of, plan_of, with_notes
from sapwood.analysis.ledger.entries import Decision, Ledger, Question
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.analysis.resumption import resumption_prompt
from sapwood.core.events import NoteKind
from sapwood.core.state import DeclaredNote
from sapwood.tokens.estimators import FeatureCounter
from tests.analysis.sessions import ToolRun, asked, session

TODOS = (
    '{"todos": [{"content": "Write the migration", "status": "completed"},'
    ' {"content": "Run it on\\n staging", "status": "in_progress"}]}'
)
PLAN = '{"plan": [{"step": "Measure first", "status": "in_progress"}]}'


def note(kind: NoteKind, text: str, at: int = 0, about: str = "") -> DeclaredNote:
    return DeclaredNote(7, kind, text, at, "model", about)


def test_declared_decisions_and_questions_are_the_newest_of_the_ledger() -> None:
    derived = Ledger(
        decisions=(Decision("Use Redis.", 1, "user"), Decision("Keep it small.", 1, "user")),
        questions=(Question("How long?", 1, "user"),),
    )
    notes = [
        note("decision", "Keep it small."),
        note("answer", "Thirty days", about="How long?"),
        note("question", "Who signs it?"),
    ]
    ledger = with_notes(derived, session(asked("Begin.")), notes)
    assert [(each.text, each.about) for each in ledger.decisions] == [
        *(("Use Redis.", ""), ("Keep it small.", ""), ("Thirty days", "How long?")),
    ]
    assert [each.text for each in ledger.questions] == ["Who signs it?"]


def test_a_declared_decision_survives_a_budget_that_has_no_room_for_derived_ones() -> None:
    talk = [asked(f"Let's use library number {n} for part {n}.", "Ok.") for n in range(60)]
    work = session(*talk, asked("Go on.", "Done."))
    ledger = with_notes(ledger_of(work), work, [note("decision", "Herons are never exported.")])
    prompt = resumption_prompt(work, FeatureCounter(), budget=160, ledger=ledger)
    assert "Herons are never exported." in prompt


def test_a_note_belongs_to_the_turn_in_which_it_was_declared() -> None:
    work = session(asked("One."), asked("Two."), asked("Three."))
    timed = type(work)(work.source, work.id, work.folder, turns=work.turns, times=(10, 20, 30))
    ledger = with_notes(Ledger(), timed, [note("decision", "Two it is.", at=25)])
    assert ledger.decisions[0].turn == 2


def test_the_newest_goal_comes_first() -> None:
    notes = [note("goal", "Ship"), note("decision", "No"), note("goal", "Ship the login")]
    assert goals_of(notes) == ("Ship the login", "Ship")


def test_a_resume_has_the_steps_of_the_plan_that_are_not_done() -> None:
    work = session(asked("Go.", ToolRun("TodoWrite", TODOS, "ok")))
    prompt = resumption_prompt(work, FeatureCounter())
    assert "- In the agent's plan: Run it on staging (in progress)" in prompt
    assert "Write the migration" not in prompt
    assert "Previous work on: Go." in prompt
    rewound = type(work)(work.source, work.id, turns=work.turns, abandoned=(0,))
    assert "staging" not in resumption_prompt(rewound, FeatureCounter())


def test_the_newest_plan_of_any_program_is_read() -> None:
    work = session(
        asked("Go.", ToolRun("TodoWrite", TODOS, "ok")),
        asked("Go on.", ToolRun("update_plan", PLAN, "ok"), ToolRun("Bash", '{"command": "ls"}')),
    )
    assert plan_of(work) == (PlanStep("Measure first", "in_progress"),)


@pytest.mark.parametrize("args", ["", "{", "[]", '{"todos": 1}', '{"todos": "x"}', "null"])
def test_a_plan_that_cannot_be_read_is_passed_over(args: str) -> None:
    assert plan_of(session(asked("Go.", ToolRun("TodoWrite", args)))) == ()


def test_entries_of_a_plan_that_are_none_are_passed_over() -> None:
    args = '{"todos": [1, {"content": 2}, {"content": "Do it"}]}'
    assert plan_of(session(asked("Go.", ToolRun("TodoWrite", args)))) == (PlanStep("Do it", ""),)
