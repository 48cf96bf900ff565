"""The answer of a judge is read entry by entry; whatever does not fit is passed over."""

import pytest

from sapwood.analysis.judgement.judge_request import (
    MAX_SENTENCES,
    SentenceVerdict,
    StretchVerdict,
    read_answer,
)


def test_an_answer_with_stretches_and_sentences() -> None:
    found = read_answer(
        '{"stretches": [{"n": 1, "status": "other work"}],'
        ' "sentences": [{"n": 2, "kind": "decision", "text": "Use tabs", "answers": "Indent?"}]}'
    )
    assert found is not None
    assert found.stretches == (StretchVerdict(1, "other work"),)
    assert found.sentences == (SentenceVerdict(2, "decision", "Use tabs", "Indent?"),)


def test_a_block_after_a_summary_is_taken_out_of_the_text() -> None:
    found = read_answer('We did it.\n\n```json\n{"sentences": []}\n```\nThe end.')
    assert found is not None
    assert found.rest == "We did it.\nThe end."


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I would say so.",
        '{"sentences": [',
        "```json\n{'sentences': []}\n```",
        '["sentences"]',
        '{"other": 1}',
        "{" * 30_000,
        '{"sentences":' * 20_000,
    ],
)
def test_an_answer_without_usable_json_is_none(answer: str) -> None:
    assert read_answer(answer) is None


def test_entries_that_do_not_fit_are_passed_over() -> None:
    found = read_answer(
        '{"stretches": [{"n": 1, "status": "fine"}, {"n": true, "status": "goal"}, 7,'
        ' {"n": 2, "status": "goal"}], "sentences": [{"n": -1, "kind": "decision"},'
        ' {"n": 1, "kind": "order"}, {"n": 0, "kind": "decision"},'
        ' {"kind": "neither", "text": "x"},'
        ' {"n": 3, "kind": "neither", "text": {"a": 1}}]}'
    )
    assert found is not None
    assert found.stretches == (StretchVerdict(2, "goal"),)
    assert found.sentences == (SentenceVerdict(3, "neither"),)


def test_texts_are_one_line_of_bounded_length_without_controls() -> None:
    text = "a\\u001b[31mred\\nline\\u202e " + "word " * 200
    found = read_answer(f'{{"sentences": [{{"n": 1, "kind": "decision", "text": "{text}"}}]}}')
    assert found is not None
    said = found.sentences[0].text
    assert len(said) <= 284
    assert said.isprintable()
    assert said.endswith("[…]")


def test_no_more_sentences_than_were_asked_about() -> None:
    entries = ", ".join(f'{{"n": {n}, "kind": "neither"}}' for n in range(1, 60))
    found = read_answer(f'{{"sentences": [{entries}]}}')
    assert found is not None
    assert len(found.sentences) == MAX_SENTENCES
