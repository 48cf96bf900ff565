"""The four wire formats, each with a model that uses it."""

from typing import Any

from scripted_model import ScriptedModel

WIRES = {
    "messages": "anthropic:claude-sonnet-5-5",
    "responses": "openai:gpt-6.1-sol",
    "chat": "openai-chat:gpt-6.1-terra",
    "gemini": "google:gemini-3.8-flash",
}
SMALL = {
    "messages": "anthropic:claude-haiku-5-5",
    "responses": "openai:gpt-5.4-mini",
    "chat": "openai-chat:gpt-5.4-nano",
    "gemini": "google:gemini-3.5-flash",
}
"""Models with a small context limit on the scripted server."""

LIMITS = {name.partition(":")[2]: 20_000 for name in SMALL.values()}
KEYS = {name: f"scripted-key-of-{name}" for name in ("anthropic", "openai", "google")}


def base_urls(server: ScriptedModel) -> dict[str, str]:
    """The address of every provider, all on one server."""
    return {
        "anthropic": server.anthropic_url,
        "openai": server.openai_url,
        "google": server.gemini_url,
    }


_BOOKKEEPING = ("prompt_cache_key", "prompt_cache_options", "diagnostics")


def asked(body: Any) -> dict[str, Any]:
    """What a body asks of the model: without the key of a cache and questions about the cache.

    They depend on the agent and on the last answer, and change nothing that the model sees.
    """
    return {name: value for name, value in body.items() if name not in _BOOKKEEPING}
