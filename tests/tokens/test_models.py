"""A model gets the counter of its vocabulary, or the estimator."""

import subprocess
import sys

import pytest

from sapwood.tokens import ExactCounter, FeatureCounter, counter_for, models
from sapwood.tokens.models import VOCABULARIES, vocabulary_of


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
        "import sys, sapwood.tokens as t; t.counter_for('gpt-4o'); print('splintr' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
