"""Where the words of a judge stand: in the ledger, and beside the chapters.

A judged entry takes the place of the one that rules derived from the same sentence, and stands
after all derived ones, so that it counts as newer. Notes come after both.
"""

from collections.abc import Mapping, Sequence

from msgspec import structs

from sapwood.analysis.chapter_report import JudgedTurns
from sapwood.analysis.ledger.entries import Decision, Ledger, Question
from sapwood.analysis.session import Session
from sapwood.core.events import JudgedSentence
from sapwood.core.state import JUDGED_LENGTH, Judgement


def said_words(text: str) -> str:
    """A text in a form that can be compared, as far as it is stored.

    >>> said_words("Use  Tabs")
    'use tabs'
    """
    return " ".join(text[:JUDGED_LENGTH].casefold().split())


def with_judged(
    ledger: Ledger,
    sentences: Sequence[JudgedSentence],
    last_turn: int = 0,
    typed: Mapping[str, int] | None = None,
) -> Ledger:
    """Returns the ledger as a judge corrected it.

    What it called neither decision nor question is left out. `typed` are the sentences that the
    user typed, as `said_words` returns them, with their turns; a judged one that no rule found is
    added from them. `last_turn` is the turn of entries in words of the judge.
    """
    if not sentences:
        return ledger
    judged = {said_words(each.was or each.text): each for each in sentences}
    decisions: list[Decision] = []
    questions: list[Question] = []
    left_decisions: list[Decision] = []
    left_questions: list[Question] = []
    for decision in ledger.decisions:
        said = None if decision.reversed_by else judged.get(said_words(decision.text))
        if said is None:
            left_decisions.append(decision)
        else:
            _place(said, decision, decisions, questions)
    for question in ledger.questions:
        said = judged.get(said_words(question.text))
        if said is None:
            left_questions.append(question)
        else:
            _place(said, question, decisions, questions)
    known = {said_words(each.text) for each in (*ledger.decisions, *ledger.questions)}
    known |= {said_words(each.text) for each in (*decisions, *questions)}
    for each in sentences:
        turn = (typed or {}).get(said_words(each.was)) if each.was else last_turn
        if turn is not None and known.isdisjoint((said_words(each.was), said_words(each.text))):
            _place(each, Decision(each.text, turn, "user"), decisions, questions)
    return structs.replace(
        ledger,
        decisions=(*left_decisions, *decisions),
        questions=(*left_questions, *questions),
    )


def judged_turns(session: Session, judged: Judgement) -> tuple[JudgedTurns, ...]:
    """Returns what a judge said of turns, by their numbers in this reading of the session.

    If only the end of a transcript was read, the numbers are found by the times of the turns.
    """
    if not session.first_request:
        return tuple(JudgedTurns(each.first, each.last, each.status) for each in judged.stretches)
    times = list(zip(session.numbers, session.times, strict=False))
    found: list[JudgedTurns] = []
    for each in judged.stretches:
        within = [number for number, at in times if at and each.began <= at <= each.ended]
        if within:
            found.append(JudgedTurns(within[0], within[-1], each.status))
    return tuple(found)


def _place(
    said: JudgedSentence,
    entry: Decision | Question,
    decisions: list[Decision],
    questions: list[Question],
) -> None:
    about = said.about or entry.about
    if said.kind == "decision":
        decisions.append(Decision(said.text, entry.turn, entry.by, about=about, source="judged"))
    elif said.kind == "question":
        questions.append(Question(said.text, entry.turn, entry.by, about, "judged"))
