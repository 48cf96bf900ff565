"""A pydantic-ai model for a route. Importing a provider's library happens in here, when it must.

Keys and addresses are given, never looked up: a variable that some library reads by itself must
not send a conversation elsewhere. Libraries do not try again by themselves.
"""

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIModelProfile

from sapwood.models.names import Route

__all__ = ["made"]


def made(route: Route, key: str, http: httpx2.AsyncClient, thinking_field: str = "") -> Model:
    """The model at the end of a route. A chat server gets its thinking back in a field."""
    match route.wire:
        case "messages":
            return _anthropic(route, key, http)
        case "gemini":
            return _google(route, key, http)
        case "responses":
            return _responses(route, key, http)
        case "chat":
            return _chat(route, key, http, thinking_field)


def _anthropic(route: Route, key: str, http: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key=key,
        base_url=route.url,
        max_retries=0,
        http_client=http,
        timeout=http.timeout,
        open_telemetry=False,
    )
    return AnthropicModel(route.model, provider=AnthropicProvider(anthropic_client=client))


def _google(route: Route, key: str, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(api_key=key, base_url=route.url, http_client=http)
    return GoogleModel(route.model, provider=provider)


def _responses(route: Route, key: str, http: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(
        api_key=key, base_url=route.url, max_retries=0, http_client=http, timeout=http.timeout
    )
    return OpenAIResponsesModel(route.model, provider=OpenAIProvider(openai_client=client))


def _chat(route: Route, key: str, http: httpx2.AsyncClient, thinking_field: str) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    client = AsyncOpenAI(
        api_key=key, base_url=route.url, max_retries=0, http_client=http, timeout=http.timeout
    )
    profile = OpenAIModelProfile()
    if route.catalogue:
        provider = OpenAIProvider(openai_client=client)
    else:
        provider = OpenAICompatibleProvider(route.account, openai_client=client)
        # What many servers take is less than what OpenAI takes.
        profile["openai_chat_supports_multiple_system_messages"] = False
        profile["openai_chat_supports_max_completion_tokens"] = False
    if thinking_field:
        profile["openai_chat_send_back_thinking_parts"] = "field"
        profile["openai_chat_thinking_field"] = thinking_field
    return OpenAIChatModel(route.model, provider=provider, profile=profile)
