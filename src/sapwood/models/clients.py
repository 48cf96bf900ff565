"""Connections to providers, and a pydantic-ai model for each route, created once and reused.

Imported at the first call. `build_model` imports the library of the one provider that it needs.
API keys and addresses are always passed in, never looked up by a library: an environment variable
that some library reads must not send a conversation elsewhere. Libraries do not retry.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIModelProfile

from sapwood.models.history_cache import HistoryCache, SendPlan, splice_history
from sapwood.models.model_routes import ModelRoute
from sapwood.models.response_limit import limited_bytes
from sapwood.models.retry import Timeouts

__all__ = ["Clients", "build_model"]

_CALL_HEADER = "x-sapwood-call"
_CALL_EXTENSION = "sapwood.call"
_PLACEHOLDER_KEY = "none"


class _Call:
    """One call: the plan by which it sends its history, and the responses it got."""

    def __init__(self, plan: SendPlan) -> None:
        self.plan = plan
        self.responses: list[httpx2.Response] = []


class Clients:
    """One HTTP client for all providers, and one pydantic-ai model for each route."""

    def __init__(self, keys: Mapping[str, str], timeouts: Timeouts, history: HistoryCache) -> None:
        self._keys = keys
        self._history = history
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeouts.silence, connect=timeouts.connect),
            limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=100),
            event_hooks={"request": [self._prepare_request], "response": [_record_response]},
        )
        self._models: dict[tuple[ModelRoute, str], Model] = {}
        self._calls: dict[str, _Call] = {}
        self._count = count()

    def has_model(self, route: ModelRoute) -> bool:
        """Whether the model of a route exists already."""
        return (route, "") in self._models

    def model(self, route: ModelRoute, thinking_field: str = "") -> Model:
        """The model of a route; created at the first use."""
        found = self._models.get((route, thinking_field))
        if found is None:
            key = self._keys.get(route.account) or _PLACEHOLDER_KEY
            found = build_model(route, key, self._http, thinking_field)
            self._models[route, thinking_field] = found
        return found

    @asynccontextmanager
    async def track_call(self, plan: SendPlan) -> AsyncGenerator[dict[str, str]]:
        """Yields a header that identifies the HTTP requests of one call.

        Such a request gets the history of the call's plan put in, and the header is removed before
        it is sent. When the call ends, in whatever way, its responses are closed.
        """
        number = str(next(self._count))
        call = self._calls[number] = _Call(plan)
        try:
            yield {_CALL_HEADER: number}
        finally:
            del self._calls[number]
            for response in call.responses:
                await response.aclose()

    async def aclose(self) -> None:
        """Closes all connections."""
        await self._http.aclose()

    async def _prepare_request(self, request: httpx2.Request) -> None:
        # Google's library uses one timeout for connecting and for answering; this restores both.
        timeout = self._http.timeout.as_dict()
        call = self._calls.get(request.headers.pop(_CALL_HEADER, ""))
        request.extensions = {**request.extensions, "timeout": timeout, _CALL_EXTENSION: call}
        if call is not None:
            body, history = splice_history(request.content, call.plan)
            self._history.store(call.plan, history)
            request.stream = httpx2.ByteStream(body)
            request.headers["content-length"] = str(len(body))


class _LimitedStream(httpx2.AsyncByteStream):
    """The bytes of a response, up to the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in limited_bytes(aiter(self._stream)):
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _record_response(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _LimitedStream(response.stream)
    call = response.request.extensions.get(_CALL_EXTENSION)
    if isinstance(call, _Call):
        call.responses.append(response)


def build_model(
    route: ModelRoute, key: str, http: httpx2.AsyncClient, thinking_field: str = ""
) -> Model:
    """A new pydantic-ai model for a route.

    `thinking_field` is the field in which a chat server gets its earlier thinking back.
    """
    match route.wire:
        case "messages":
            return _anthropic(route, key, http)
        case "gemini":
            return _google(route, key, http)
        case "responses":
            return _responses(route, key, http)
        case "chat":
            return _chat(route, key, http, thinking_field)


def _anthropic(route: ModelRoute, key: str, http: httpx2.AsyncClient) -> Model:
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


def _google(route: ModelRoute, key: str, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(api_key=key, base_url=route.url, http_client=http)
    return GoogleModel(route.model, provider=provider)


def _responses(route: ModelRoute, key: str, http: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(
        api_key=key, base_url=route.url, max_retries=0, http_client=http, timeout=http.timeout
    )
    return OpenAIResponsesModel(route.model, provider=OpenAIProvider(openai_client=client))


def _chat(route: ModelRoute, key: str, http: httpx2.AsyncClient, thinking_field: str) -> Model:
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
        # Many servers accept less than OpenAI does.
        profile["openai_chat_supports_multiple_system_messages"] = False
        profile["openai_chat_supports_max_completion_tokens"] = False
    if thinking_field:
        profile["openai_chat_send_back_thinking_parts"] = "field"
        profile["openai_chat_thinking_field"] = thinking_field
    return OpenAIChatModel(route.model, provider=provider, profile=profile)
