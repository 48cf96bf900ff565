"""The evals pass their limits, and fail if the rules get worse."""

from collections.abc import Callable

import pytest
from msgspec import structs

from evals import chapters, ledger, recap
from evals.__main__ import NAMES, main
from evals.keyword_baseline import keyword_ledger
from evals.labels import SETS, SessionSet, read_set
from evals.quoted_labels import QUOTED_SETS, QuotedSet, read_quoted
from evals.quoted_ledger import is_short, quoted_total
from evals.scores import Score, compare, match_labels
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.core.content import Text
from sapwood.core.turn import Turn


@pytest.mark.night
@pytest.mark.parametrize("name", NAMES)
def test_an_eval_passes_its_limits(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name]) == 0, capsys.readouterr().out


@pytest.mark.night
@pytest.mark.parametrize("chosen", SETS)
def test_counting_keywords_would_not_pass(chosen: SessionSet) -> None:
    labelled = read_set(chosen)
    assert ledger.is_below_limits(ledger.scores_of(labelled, keyword_ledger))
    assert recap.survivors(labelled, chosen, recap.summary) < recap.LIMIT


@pytest.mark.night
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
    assert "ledger|chapters|recap" in capsys.readouterr().err


@pytest.mark.parametrize("chosen", QUOTED_SETS)
def test_each_set_labelled_by_quotes_passes(chosen: QuotedSet) -> None:
    labelled = read_quoted(chosen)
    assert labelled
    assert not is_short(quoted_total(labelled, ledger_of))


def test_counting_keywords_would_not_pass_on_the_sessions_labelled_by_quotes() -> None:
    labelled = [each for chosen in QUOTED_SETS for each in read_quoted(chosen)]
    assert is_short(quoted_total(labelled, keyword_ledger))


def test_the_quotes_of_the_labels_were_said() -> None:
    for each in [each for chosen in QUOTED_SETS for each in read_quoted(chosen)]:
        said = " ".join(
            " ".join(text.split()) for turn in each.session.turns for text in said_in(turn)
        )
        for label in (*each.labels.decisions, *each.labels.questions):
            assert any(" ".join(quote.split()).rstrip(".?!") in said for quote in label.quotes), (
                label
            )


def said_in(turn: Turn) -> list[str]:
    return [*(part.text for part in turn.prompt if isinstance(part, Text)), *turn.texts()]


def test_a_made_up_reversal_or_a_pasted_decision_fails_the_eval() -> None:
    good = quoted_total(read_quoted("quoted_tuned"), ledger_of)
    assert not is_short(good)
    assert is_short(structs.replace(good, reversals=Score(1, 1, 0)))
    assert is_short(structs.replace(good, pasted=1))
    assert is_short(structs.replace(good, failing=Score(1, 2, 0)))
