"""A name leads to a model, or to a message with similar names."""

import pytest

from sapwood.core.model_calls import Failure
from sapwood.models.model_routes import resolve


@pytest.mark.parametrize(
    ("name", "provider", "wire", "model"),
    [
        ("anthropic:claude-sonnet-5-5", "anthropic", "messages", "claude-sonnet-5-5"),
        ("openai:gpt-5", "openai", "responses", "gpt-5"),
        ("openai-chat:gpt-5.4", "openai-chat", "chat", "gpt-5.4"),
        ("google:gemini-3.1-pro-preview", "google", "gemini", "gemini-3.1-pro-preview"),
        ("claude-opus-5-5", "anthropic", "messages", "claude-opus-5-5"),
        ("gpt-4o", "openai", "responses", "gpt-4o"),
        ("o3", "openai", "responses", "o3"),
        ("o4-mini", "openai", "responses", "o4-mini"),
        ("gemini-3.8-flash", "google", "gemini", "gemini-3.8-flash"),
    ],
)
def test_a_name_leads_to_a_provider_and_its_wire(
    name: str, provider: str, wire: str, model: str
) -> None:
    route = resolve(name)
    assert (route.provider, route.wire, route.model) == (provider, wire, model)


def test_a_provider_that_is_not_configured_otherwise_has_its_own_address() -> None:
    assert resolve("claude-opus-5-5").url == "https://api.anthropic.com"


def test_an_address_is_configured_by_provider() -> None:
    assert resolve("gpt-5", {"openai": "http://proxy/v1"}).url == "http://proxy/v1"


def test_the_two_wires_of_openai_share_key_and_address() -> None:
    route = resolve("openai-chat:gpt-5.4", {"openai": "http://proxy/v1"})
    assert (route.url, route.account, route.variable) == (
        "http://proxy/v1",
        "openai",
        "OPENAI_API_KEY",
    )


def test_a_compatible_server_has_the_configured_address_and_needs_no_key() -> None:
    route = resolve("compatible:qwen3:8b", {"compatible": "http://here/v1"})
    assert (route.model, route.url, route.needs_key) == ("qwen3:8b", "http://here/v1", False)


def test_a_configured_server_is_reached_by_its_own_name() -> None:
    route = resolve("den:qwen3", {"den": "http://den/v1"})
    assert (route.provider, route.wire, route.url) == ("den", "chat", "http://den/v1")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gtp-5", "Did you mean gpt-5"),
        ("claud-sonnet-5-5", "Did you mean claude-sonnet-5-5"),
        ("anthropc:claude-sonnet-5-5", "Did you mean anthropic:claude-sonnet-5-5?"),
        ("llama", "Write a model as provider:model; the providers are anthropic, openai,"),
        ("anthropic:", "Write provider:model"),
        ("qwen3:8b", "Write provider:model"),
        ("", "No model is set."),
        ("compatible:qwen3", "has no address. Configure a base URL for 'compatible'"),
        ("den:qwen3", "has the address 'den:11434', which is not a valid URL."),
    ],
)
def test_a_name_that_leads_nowhere_says_what_to_write(name: str, hint: str) -> None:
    with pytest.raises(Failure, match=r"model|address") as caught:
        resolve(name, {"den": "den:11434"})
    assert caught.value.kind == "no_model"
    assert hint in str(caught.value)
