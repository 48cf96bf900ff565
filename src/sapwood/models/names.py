"""From a model's name to where it is: the provider, the wire format, the address.

`provider:model` says it all. A bare name belongs to the provider whose family it is in. Any other
server that speaks OpenAI's chat format is reached as `compatible:model`, or under its own name if
an address was configured for one.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from sapwood.core.calling import Failure
from sapwood.models.catalogue import names

__all__ = ["PROVIDERS", "Provider", "Route", "Wire", "nearest", "resolve"]

Wire = Literal["messages", "responses", "chat", "gemini"]
"""How requests are written: Anthropic Messages, OpenAI Responses, OpenAI Chat, Gemini."""


class Provider(Struct, frozen=True):
    """What is known of a provider before anything is imported.

    `account` is whose key and address it uses, `catalogue` where its windows and prices stand.
    """

    title: str
    wire: Wire
    url: str = ""
    variable: str = ""
    account: str = ""
    catalogue: str = ""


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(
        "Anthropic",
        "messages",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        "anthropic",
        "anthropic",
    ),
    "openai": Provider(
        "OpenAI", "responses", "https://api.openai.com/v1", "OPENAI_API_KEY", "openai", "openai"
    ),
    "openai-chat": Provider(
        "OpenAI", "chat", "https://api.openai.com/v1", "OPENAI_API_KEY", "openai", "openai"
    ),
    "google": Provider(
        "Google",
        "gemini",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        "google",
        "google",
    ),
    "compatible": Provider("", "chat"),
}

_FAMILIES = (
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gpt-|chatgpt-|codex-|o\d"), "openai"),
    (re.compile(r"gemini-|gemma-"), "google"),
)


class Route(Struct, frozen=True):
    """Where a model is. `provider` is whose key is used and who gets its own thinking back."""

    provider: str
    model: str
    wire: Wire
    url: str
    title: str
    account: str
    variable: str
    catalogue: str

    @property
    def needs_key(self) -> bool:
        """Whether the provider answers nobody without one."""
        return bool(self.variable)


def resolve(name: str, urls: Mapping[str, str] | None = None) -> Route:
    """The route to a model, with configured addresses; raises `Failure` where there is none.

    >>> resolve("claude-sonnet-5-5").provider, resolve("openai-chat:gpt-5.4").wire
    ('anthropic', 'chat')
    >>> resolve("den:qwen3:8b", {"den": "http://127.0.0.1:11434/v1"}).model
    'qwen3:8b'
    """
    urls = urls or {}
    if not name.strip():
        raise Failure("no_model", "No model is chosen. Choose one, as in /model claude-sonnet-5-5.")
    prefix, colon, model = name.partition(":")
    if not colon:
        return _bare(name, urls)
    if prefix in PROVIDERS and model:
        return _route(prefix, model, PROVIDERS[prefix], urls)
    if prefix in urls and model:
        return _route(prefix, model, Provider("", "chat"), urls)
    raise _unknown(name, urls)


def nearest(word: str, words: Iterable[str], form: str = "{}") -> str:
    """' Did you mean …?', or nothing.

    >>> nearest("gtp-5", ["gpt-5", "o3"])
    ' Did you mean gpt-5?'
    """
    close = get_close_matches(word, list(dict.fromkeys(words)), n=3, cutoff=0.6)
    return f" Did you mean {', '.join(map(form.format, close))}?" if close else ""


def _bare(name: str, urls: Mapping[str, str]) -> Route:
    for family, provider in _FAMILIES:
        if family.match(name):
            return _route(provider, name, PROVIDERS[provider], urls)
    raise _unknown(name, urls)


def _route(name: str, model: str, provider: Provider, urls: Mapping[str, str]) -> Route:
    account = provider.account or name
    url = urls.get(name) or urls.get(account) or provider.url
    if not url.startswith(("http://", "https://")):
        has = f"has the address '{url}', which is none" if url else "has no address"
        raise Failure(
            "no_model", f"'{name}:{model}' {has}. Configure a base URL for '{name}', with http://."
        )
    return Route(
        provider=name,
        model=model,
        wire=provider.wire,
        url=url,
        title=provider.title or urlsplit(url).netloc,
        account=account,
        variable=provider.variable,
        catalogue=provider.catalogue,
    )


def _unknown(name: str, urls: Mapping[str, str]) -> Failure:
    prefix, colon, model = name.partition(":")
    providers = tuple(dict.fromkeys((*PROVIDERS, *urls)))
    if colon and prefix not in providers:
        close = nearest(prefix, providers, f"{{}}:{model}")
    else:
        known = (each for provider in PROVIDERS.values() for each in names(provider.catalogue))
        close = nearest(model or name, known)
    way = close or f" Write provider:model; the providers are {', '.join(providers)}."
    return Failure("no_model", f"There is no model '{name}'.{way}")
