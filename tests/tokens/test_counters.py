"""A model gets an exact counter or the estimator, and counts are cached."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.token_count import Count
from sapwood.tokens import counters as exact
from sapwood.tokens import counters as models
from sapwood.tokens.counters import (
    VOCABULARIES,
    CachingCounter,
    ExactCounter,
    ExtraMissing,
    counter_for,
    extra_installed,
    vocabulary_of,
)
from sapwood.tokens.estimators import FeatureCounter


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4o", "o200k_base"),
        ("openai:gpt-5-mini", "o200k_base"),
        ("ft:gpt-4o-mini:acme:1", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-oss-120b", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3"),
        ("llama3.2:3b", "llama3"),
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama3"),
        ("Qwen/Qwen3-32B", "qwen3"),
        ("qwen2.5-coder:7b", "qwen3"),
        ("zai-org/GLM-4.5-Air", "glm4"),
        ("moonshotai/Kimi-K2-Instruct", "kimi_k2"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v3"),
        ("open-mistral-nemo-2407", "mistral_v3"),
        ("google/gemma-3-27b-it", "gemma3"),
        ("gemma2:9b", "gemma2"),
        ("microsoft/phi-4", "phi4"),
    ],
)
def test_a_model_with_a_public_vocabulary_is_counted_exactly(model: str, vocabulary: str) -> None:
    counter = counter_for(model)
    assert (counter.name, counter.exact) == (vocabulary, True)
    assert counter.count("sapwood carries the water").exact


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-5-5",
        "gemini-2.5-pro",
        "llama-4-scout",
        "qwen-max",
        "qwen3.5-plus",
        "glm-5",
        "deepseek-chat",
        "deepseek-r1:7b",
        "DeepSeek-R1-Distill-Qwen-7B",
        "mistral-large-latest",
        "phi-4-mini-instruct",
        "mygpt-4o",
        "",
    ],
)
def test_a_model_whose_name_settles_no_vocabulary_is_estimated(model: str) -> None:
    counter = counter_for(model)
    assert (counter.name, counter.exact) == ("features", False)
    assert not counter.count("sapwood carries the water").exact


def test_every_listed_vocabulary_can_be_loaded() -> None:
    for vocabulary, _ in VOCABULARIES:
        assert ExactCounter(vocabulary).count("text").tokens > 0


def test_without_the_extra_every_model_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "extra_installed", lambda: False)
    assert vocabulary_of("gpt-4o") == "o200k_base"
    assert isinstance(counter_for("gpt-4o"), FeatureCounter)


def test_choosing_a_counter_loads_no_vocabulary() -> None:
    code = (
        "import sys, sapwood.tokens.counters as t; t.counter_for('gpt-4o');"
        "print('splintr' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


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


class Noting:
    """Counts characters, and notes what it was asked."""

    name = "characters"
    exact = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> Count:
        self.asked.append(text)
        return Count(len(text), exact=True)


LONG, OTHER = "a long text, sent again with every call " * 3, "another long text " * 8


def test_a_long_text_is_counted_once() -> None:
    noting = Noting()
    counter = CachingCounter(noting)
    counts = [counter.count(text) for text in (LONG, OTHER, LONG, "short", "short")]
    assert [count.tokens for count in counts] == [len(LONG), len(OTHER), len(LONG), 5, 5]
    assert noting.asked == [LONG, OTHER, "short", "short"]


def test_it_goes_by_the_name_of_the_other_and_counts_the_same() -> None:
    others = [FeatureCounter(), *([ExactCounter("o200k_base")] if extra_installed() else [])]
    for other in others:
        counter = CachingCounter(other)
        assert (counter.name, counter.exact) == (other.name, other.exact)
        for text in ("", "a", LONG, LONG, "\ud800" * 100, "日本語" * 50):
            assert counter.count(text) == other.count(text)


def test_it_forgets_when_it_remembers_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.tokens.counters._MAX_ENTRIES", 1)
    noting = Noting()
    counter = CachingCounter(noting)
    for text in (LONG, OTHER, LONG):
        counter.count(text)
    assert noting.asked == [LONG, OTHER, LONG]
