"""Estimates are stable, fast on bad input, and as good as the benchmark shows."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench import token_weights
from sapwood.core.token_count import Count
from sapwood.tokens import estimators
from sapwood.tokens.counters import ExactCounter
from sapwood.tokens.estimators import (
    FEATURES,
    WEIGHTS,
    Chars4Counter,
    FeatureCounter,
    classes_of,
    features_of,
    shapes_of,
)

# Characters of every class, and lone surrogates, which some tool output holds.
texts = st.text(st.characters() | st.sampled_from("aB9 \t\n_.(é中。あ한कя—🎉\ud83d"), max_size=300)
samples = [
    ("def total(self) -> Decimal:\n    return self.price * self.quantity\n", 17),
    ("The tests pass now. What was wrong: the clock was frozen too early.", 16),
    ('{"id": 4711, "tags": ["a", "b"], "ok": true}', 23),
    ("原因找到了，日志里只有开始的那一行。", 12),
]


@given(texts)
def test_every_character_belongs_to_one_shape(text: str) -> None:
    assert sum(len(shape) for shape in shapes_of(classes_of(text))) == len(text)


@given(texts)
def test_every_shape_has_something_to_count(text: str) -> None:
    for shape in shapes_of(classes_of(text)):
        found = features_of(shape)
        assert found
        assert found.keys() <= set(FEATURES)


@given(texts)
@example("a \n \n b\n  c: \n d")
@example("  a   b:  \n    c  0 \n     1    return (  x )  ")
def test_words_cost_what_their_shapes_do(text: str) -> None:
    cost = sum(
        WEIGHTS[name] * times
        for shape in shapes_of(classes_of(text))
        for name, times in features_of(shape).items()
    )
    assert FeatureCounter().count(text).tokens == max((cost + 50) // 100, min(1, len(text)))


@given(texts)
@example("")
@example("क")
def test_only_an_empty_text_has_no_tokens(text: str) -> None:
    assert (FeatureCounter().count(text).tokens == 0) is (text == "")


@given(texts, texts)
def test_lines_counted_apart_and_together_come_to_the_same(a: str, b: str) -> None:
    counter = FeatureCounter()
    apart = counter.count(f"{a}x\n").tokens + counter.count(f"x{b}").tokens
    assert abs(counter.count(f"{a}x\nx{b}").tokens - apart) <= 2


@pytest.mark.parametrize(("text", "tokens"), samples)
def test_recorded_sizes_stay_comparable(text: str, tokens: int) -> None:
    # A change here is a change of what is recorded under the name: give the counter another one.
    assert FeatureCounter().name == "features"
    assert FeatureCounter().count(text).tokens == tokens


@pytest.mark.parametrize(("text", "_"), samples)
def test_an_estimate_is_near_the_exact_count(text: str, _: int) -> None:
    exact = ExactCounter("o200k_base").count(text).tokens
    assert FeatureCounter().count(text).tokens == pytest.approx(exact, rel=0.25)


@pytest.mark.parametrize(
    "text", [" " * 200_000, "\n \n" * 70_000, "a" * 200_000 + "1", "a1" * 100_000, "-=" * 100_000]
)
def test_no_text_takes_more_than_linear_time(text: str) -> None:
    started = time.process_time()
    FeatureCounter().count(text)
    assert time.process_time() - started < 2


def test_the_weights_are_those_that_the_fit_prints() -> None:
    # Another Python may add floats up differently, which can move a weight by a hundredth.
    assert token_weights.fit() == pytest.approx(WEIGHTS, abs=1)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("fives", 2)])
def test_every_four_characters_are_a_token(text: str, tokens: int) -> None:
    assert Chars4Counter().count(text) == Count(tokens, exact=False)


def test_characters_are_counted_and_not_bytes() -> None:
    assert Chars4Counter().count("一二三四").tokens == 1


@pytest.mark.parametrize(
    "part",
    ["getUserName(42) ", "a1B2", "-", '\\"', "=->", "→", "数据。", "  x\n \n", "\n", "été3 ", "aA"],
)
def test_a_long_text_is_counted_in_pieces_with_the_same_result(part: str) -> None:
    text = part * (60_000 // len(part)) + "end"
    shapes = estimators._PIECE.findall(estimators.classes_of(text))  # pyright: ignore[reportPrivateUsage]
    pieces = estimators.pieces_of(estimators.classes_of(text))
    assert [shape for piece in pieces for shape in estimators.shapes_of(piece)] == shapes


def test_changes_of_a_long_run_of_marks_are_counted_in_steps() -> None:
    assert estimators.features_of(b"-=" * 20_000)["change"] == 39_999
    assert estimators.features_of(b"-" * 40_000)["change"] == 0
