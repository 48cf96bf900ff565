"""The settings of a call besides messages and tools."""

import pytest

from sapwood.core.model_calls import Failure
from sapwood.models.calls import settings_for


def test_anthropic_is_asked_to_cache_the_system_prompt_and_the_conversation() -> None:
    assert settings_for("messages", {}) == {
        "anthropic_cache_instructions": True,
        "anthropic_cache": True,
    }


def test_openai_is_asked_to_store_nothing() -> None:
    assert settings_for("responses", {}) == {"openai_store": False}


def test_a_parameter_goes_to_every_provider() -> None:
    assert settings_for("gemini", {"max_tokens": 100}) == {"max_tokens": 100}


def test_a_parameter_of_another_provider_stays_at_home() -> None:
    assert settings_for("chat", {"google_labels": {"a": "b"}}) == {}


def test_a_parameter_of_the_provider_itself_overrules() -> None:
    settings = settings_for("messages", {"anthropic_cache": "1h"})
    assert settings.get("anthropic_cache") == "1h"


def test_a_model_that_binds_its_thinking_is_asked_to_drop_what_no_longer_fits() -> None:
    thinking = settings_for("messages", {"thinking": "high"}, binds_thinking=True)
    assert thinking.get("anthropic_thinking") == {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert thinking.get("thinking") == "high"


def test_thinking_that_is_switched_off_stays_off() -> None:
    settings = settings_for("messages", {"thinking": False}, binds_thinking=True)
    assert "anthropic_thinking" not in settings


def test_an_unknown_parameter_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(Failure, match=r"no parameter 'temprature'\. Did you mean temperature\?"):
        settings_for("chat", {"temprature": 1})
