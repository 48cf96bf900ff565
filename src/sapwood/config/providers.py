"""The one table of model providers: names, wire formats, addresses and API key variables."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Wire = Literal["messages", "responses", "chat", "gemini"]
"""A wire format: Anthropic Messages, OpenAI Responses, OpenAI Chat, Gemini."""


class Provider(Struct, frozen=True):
    """What is known about a provider before its library is imported.

    `account` is the provider whose API key and address it uses. `catalogue` is its name in the
    published list of windows and prices. `key_variables` are the environment variables that may
    hold its key, in the order in which they are read.
    """

    title: str
    wire: Wire
    url: str = ""
    key_variables: tuple[str, ...] = ()
    account: str = ""
    catalogue: str = ""


_OPENAI_URL = "https://api.openai.com/v1"

PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(
        "Anthropic",
        "messages",
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY",),
        "anthropic",
        "anthropic",
    ),
    "openai": Provider("OpenAI", "responses", _OPENAI_URL, ("OPENAI_API_KEY",), "openai", "openai"),
    "openai-chat": Provider("OpenAI", "chat", _OPENAI_URL, ("OPENAI_API_KEY",), "openai", "openai"),
    "google": Provider(
        "Google",
        "gemini",
        "https://generativelanguage.googleapis.com",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "google",
        "google",
    ),
    "compatible": Provider("", "chat"),
}
"""By the name that stands before the colon in `provider:model`."""


def plugin_variable(name: str) -> str:
    """The environment variable with the API key of a provider that a plug-in adds.

    The name decides it, so that the plug-in need not be loaded to read and mask the key.

    >>> plugin_variable("acme-cloud")
    'ACME_CLOUD_API_KEY'
    """
    return f"{name.upper().replace('-', '_')}_API_KEY"
