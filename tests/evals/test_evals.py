"""The evals pass their limits, and fail if the rules get worse."""

from collections.abc import Callable

import pytest

from evals import chapters, ledger, resume
from evals.__main__ import NAMES, main
from evals.keyword_baseline import keyword_ledger
from evals.labels import SETS, SessionSet, read_set
from evals.scores import Score, compare, match_labels
from sapwood.analysis.ledger import ledger_of


@pytest.mark.parametrize("name", NAMES)
def test_an_eval_passes_its_limits(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("chosen", SETS)
def test_counting_keywords_would_not_pass(chosen: SessionSet) -> None:
    labelled = read_set(chosen)
    assert ledger.is_below_limits(ledger.scores_of(labelled, keyword_ledger))
    assert resume.survivors(labelled, chosen, resume.summary) < resume.LIMIT


@pytest.mark.parametrize("name", chapters.LIMITS)
@pytest.mark.parametrize("rule", [chapters.one_chapter, chapters.every_fourth_turn])
def test_simple_rules_for_chapters_would_not_pass(
    name: str, rule: Callable[[chapters.LabelledChapters], list[str]]
) -> None:
    labelled = chapters.read_chapters(name)
    assert chapters.is_short(chapters.score_of(labelled, rule), chapters.LIMITS[name])
    right = chapters.score_of(labelled, lambda each: each.chapters)
    assert right == chapters.BorderScore(0, 0, 1)


@pytest.mark.parametrize("chosen", SETS)
def test_every_session_is_labelled_turn_by_turn(chosen: SessionSet) -> None:
    for each in read_set(chosen):
        assert [label.turn for label in each.labels.turns] == list(
            dict.fromkeys(each.session.numbers)
        )
        assert each.labels.how
        assert len(each.labels.turns) >= 15


def test_there_are_sessions_of_different_programs_and_kinds() -> None:
    labelled = [each for chosen in SETS for each in read_set(chosen)]
    assert {each.session.source for each in labelled} == {"claude-code", "codex", "gemini"}
    assert len({each.labels.kind for each in labelled}) == len(labelled) >= 8
    assert any(each.session.boundaries for each in labelled)
    assert any(each.labels.failing for each in labelled)
    assert any(decision.reversed_by for each in labelled for decision in each.labels.decisions)


def test_a_missed_decision_lowers_the_score() -> None:
    assert compare(["a", "b", "b"], ["b", "c"]) == Score(right=1, wrong=1, missed=2)
    (each,) = [e for e in read_set("tuned") if e.name == "full-disk"]
    found = [(d.text, d.turn) for d in ledger_of(each.session).decisions]
    whole, _, _, _ = match_labels(each.labels.decisions, found)
    less, _, _, _ = match_labels(each.labels.decisions, found[1:])
    assert less.right == whole.right - 1


def test_an_unknown_eval_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    assert "ledger|chapters|resume" in capsys.readouterr().err
