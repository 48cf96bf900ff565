"""Judged entries stand above derived ones and below declared ones."""

from sapwood.analysis.chapter_report import JudgedTurns
from sapwood.analysis.declared_notes import stated_ledger
from sapwood.analysis.judgement.judged_entries import judged_turns, with_judged
from sapwood.analysis.ledger.entries import Decision, Ledger, Question
from sapwood.analysis.resumption import resumption_prompt
from sapwood.core.events import JudgedSentence, JudgedStretch
from sapwood.core.state import DeclaredNote, Judgement
from sapwood.tokens.estimators import FeatureCounter
from tests.analysis.sessions import asked, session

DERIVED = Ledger(
    decisions=(
        Decision("08", 1, "user"),
        Decision("Use Redis", 2, "user"),
        Decision("Keep it", 3, "user"),
    ),
    questions=(Question("How long?", 2, "model"), Question("ok?", 3, "model")),
)
SAID = (
    JudgedSentence("Port 8008", "decision", "08", "Which port?"),
    JudgedSentence("ok?", "neither", "ok?"),
    JudgedSentence("Use redis", "question", "use  redis"),
    JudgedSentence("Never on Fridays", "decision"),
)


def test_a_judged_entry_takes_the_place_of_the_derived_one_and_counts_as_newer() -> None:
    ledger = with_judged(DERIVED, SAID, last_turn=4)
    assert [(each.text, each.turn, each.source) for each in ledger.decisions] == [
        ("Keep it", 3, "derived"),
        ("Port 8008", 1, "judged"),
        ("Never on Fridays", 4, "judged"),
    ]
    assert ledger.decisions[1].about == "Which port?"
    assert [(each.text, each.source) for each in ledger.questions] == [
        ("How long?", "derived"),
        ("Use redis", "judged"),
    ]


def test_notes_stand_above_the_judge() -> None:
    work = session(asked("One."), asked("Two."))
    notes = [DeclaredNote(7, "decision", "Port 9000", 0), DeclaredNote(8, "question", "Who?", 0)]
    ledger = stated_ledger(DERIVED, work, notes, Judgement("gpt-5", 5, sentences=SAID))
    assert [each.source for each in ledger.decisions][-2:] == ["judged", "declared"]
    assert ledger.questions[-1].source == "declared"


def test_a_typed_sentence_that_no_rule_found_is_added_with_its_turn() -> None:
    work = session(asked("One."), asked("Ship on Mondays."), asked("Deploy at night."))
    said = [JudgedSentence(t, "decision", t) for t in ("Ship on Mondays.", "Deploy at night.")]
    judged = Judgement("gpt-5", 5, sentences=tuple(said))
    found = stated_ledger(Ledger(), work, [], judged).decisions
    assert [(each.text, each.turn, each.source) for each in found] == [
        ("Ship on Mondays.", 2, "judged"),
        ("Deploy at night.", 3, "judged"),
    ]
    rewound = type(work)(work.source, work.id, turns=work.turns, abandoned=(2,))
    assert len(stated_ledger(Ledger(), rewound, [], judged).decisions) == 1


def test_a_reversed_decision_stays_reversed_whatever_the_judge_says() -> None:
    old = Ledger(decisions=(Decision("08", 1, "user", reversed_by=3),))
    assert with_judged(old, SAID[:1]).decisions == old.decisions


def test_the_recap_marks_what_was_judged() -> None:
    work = session(asked("Build it.", "ok"), asked("Go on.", "ok"))
    prompt = resumption_prompt(work, FeatureCounter(), ledger=with_judged(DERIVED, SAID))
    assert "- Decision: Which port? → Port 8008 (turn 1, judged)" in prompt


def test_stretches_are_found_by_number_or_in_a_tail_by_their_times() -> None:
    judged = Judgement(
        stretches=(
            JudgedStretch(7, 8, "other work", 70, 80),
            JudgedStretch(1, 2, "goal", 10, 20),
        )
    )
    whole = session(*(asked(f"{n}") for n in range(9)))
    assert judged_turns(whole, judged)[0] == JudgedTurns(7, 8, "other work")
    tail = type(whole)(
        *(whole.source, whole.id),
        turns=whole.turns[:3],
        times=(70, 80, 90),
        first_request="Build it.",
    )
    assert judged_turns(tail, judged) == (JudgedTurns(1, 2, "other work"),)
