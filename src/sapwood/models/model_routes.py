"""Finds where a model is: its provider, wire format and address.

`provider:model` names both. A name without a provider belongs to the provider whose family of
names it matches. Any other server that speaks OpenAI's chat format is `compatible:model`, or has a
name of its own if an address is configured for that name.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct, structs

from sapwood.config.providers import PROVIDERS as PROVIDERS
from sapwood.config.providers import Provider, plugin_variable
from sapwood.config.providers import Wire as Wire
from sapwood.core.errors import PluginError
from sapwood.core.model_calls import Failure
from sapwood.core.refusals.refusal import did_you_mean, nearest
from sapwood.models.catalogue import model_names
from sapwood.plugins import load_plugin
from sapwood.programs.registry import program_executor, programs_with

_SIMILAR = 0.6
"""Names of models are short: those that share half of their letters mean other models."""
_FAMILIES = (
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gpt-|chatgpt-|codex-|o\d"), "openai"),
    (re.compile(r"gemini-|gemma-"), "google"),
)


class ModelRoute(Struct, frozen=True):
    """Where a model is.

    `provider` is the prefix in `provider:model`; a model gets its earlier thinking back only from
    the same one. `account` is the provider whose API key is used, `variable` the environment
    variable for that key, '' if the server needs none.
    """

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
        """Whether the provider refuses calls without an API key."""
        return bool(self.variable)


def resolve(name: str, urls: Mapping[str, str] | None = None) -> ModelRoute:
    """The route to a model. `urls` are configured addresses, by provider.

    Raises `Failure` of the kind `no_model` for a name that leads nowhere.

    >>> resolve("claude-sonnet-5-5").provider, resolve("openai-chat:gpt-5.4").wire
    ('anthropic', 'chat')
    >>> resolve("den:qwen3:8b", {"den": "http://127.0.0.1:11434/v1"}).model
    'qwen3:8b'
    """
    urls = urls or {}
    if not name.strip():
        raise Failure(
            "no_model", "No model is set. Set one, for example: /model claude-sonnet-5-5."
        )
    if (executor := program_executor(name)) is not None:
        raise Failure(
            "no_model",
            f"{executor.title} runs its own turns; it is not a model that Sapwood can call. Choose "
            "a model, for example: /model claude-sonnet-5-5.",
        )
    prefix, colon, model = name.partition(":")
    if not colon:
        return _route_by_family(name, urls)
    if prefix in PROVIDERS and model:
        return _route(prefix, model, PROVIDERS[prefix], urls)
    if model and (provider := _plugin_provider(prefix)) is not None:
        return _route(prefix, model, provider, urls)
    if prefix in urls and model:
        return _route(prefix, model, Provider("", "chat"), urls)
    raise _unknown_model(name, urls)


def _plugin_provider(name: str) -> Provider | None:
    """The provider that a plug-in adds. Its key is in the variable that `plugin_variable` names."""
    try:
        found = load_plugin("models", name)
    except PluginError as error:
        raise Failure("no_model", str(error)) from error
    if not isinstance(found, Provider):
        return None
    variables = (plugin_variable(name),) if found.key_variables else ()
    return structs.replace(found, key_variables=variables, account=name)


def _route_by_family(name: str, urls: Mapping[str, str]) -> ModelRoute:
    for family, provider in _FAMILIES:
        if family.match(name):
            return _route(provider, name, PROVIDERS[provider], urls)
    raise _unknown_model(name, urls)


def _route(name: str, model: str, provider: Provider, urls: Mapping[str, str]) -> ModelRoute:
    account = provider.account or name
    url = urls.get(name) or urls.get(account) or provider.url
    if not _is_valid(url):
        problem = f"has the address '{url}', which is not a valid URL" if url else "has no address"
        raise Failure(
            "no_model",
            f"'{name}:{model}' {problem}. Configure a base URL for '{name}', with http://.",
        )
    return ModelRoute(
        provider=name,
        model=model,
        wire=provider.wire,
        url=url,
        title=provider.title or urlsplit(url).netloc,
        account=account,
        variable=provider.key_variables[0] if provider.key_variables else "",
        catalogue=provider.catalogue,
    )


def _is_valid(url: str) -> bool:
    try:
        _ = urlsplit(url).port
    except ValueError:  # a port or an IPv6 address that is none
        return False
    return url.startswith(("http://", "https://"))


def _unknown_model(name: str, urls: Mapping[str, str]) -> Failure:
    prefix, colon, model = name.partition(":")
    providers = tuple(dict.fromkeys((*PROVIDERS, *urls)))
    if colon and prefix not in providers:
        close = tuple(f"{provider}:{model}" for provider in nearest(prefix, providers, _SIMILAR))
    else:
        known = [
            each for provider in PROVIDERS.values() for each in model_names(provider.catalogue)
        ]
        programs = [each.name for each in programs_with("provider")]
        close = nearest(model or name, known if colon else [*programs, *known], _SIMILAR)
        if not colon and not close:
            return Failure(
                "no_model",
                f"There is no model '{name}', and no agent program of that name: these are "
                f"{', '.join(programs)}. Write a model as provider:model; the providers are "
                f"{', '.join(providers)}.",
            )
    hint = (
        did_you_mean(close) or f" Write provider:model; the providers are {', '.join(providers)}."
    )
    return Failure("no_model", f"There is no model '{name}'.{hint}")
