"""Exact counters: real vocabularies, no control tokens from text, and a hint without the extra."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.counting import Count
from sapwood.tokens import ExactCounter, ExtraMissing, exact


@pytest.mark.parametrize(
    ("vocabulary", "text", "tokens"),
    [
        ("cl100k_base", "hello world", 2),
        ("cl100k_base", "tiktoken is great!", 6),
        ("o200k_base", "hello world", 2),
        ("o200k_base", "お誕生日おめでとう", 8),
        ("cl100k_base", "お誕生日おめでとう", 9),
    ],
)
def test_published_counts_are_met(vocabulary: str, text: str, tokens: int) -> None:
    assert ExactCounter(vocabulary).count(text) == Count(tokens, exact=True)


def test_a_control_token_that_is_spelt_out_is_text() -> None:
    assert ExactCounter("o200k_base").count("<|endoftext|>").tokens > 1


def test_half_a_surrogate_pair_is_counted_as_what_replaces_it() -> None:
    counter = ExactCounter("o200k_base")
    assert counter.count("a\ud83d") == counter.count("a?")


@given(st.text(max_size=100))
def test_a_text_has_at_most_as_many_tokens_as_bytes(text: str) -> None:
    assert bool(text) <= ExactCounter("o200k_base").count(text).tokens <= len(text.encode())


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "extra_installed", lambda: False)
    with pytest.raises(ExtraMissing, match=r"pip install 'sapwood\[tokens\]'"):
        ExactCounter("o200k_base")


def test_an_unknown_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="no_such_vocabulary"):
        ExactCounter("no_such_vocabulary").count("text")
