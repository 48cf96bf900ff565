"""One call of one model: sends a request, yields deltas and at the end the answer.

Imported at the first call. It makes one attempt; `Models` decides about retries.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import msgspec
from msgspec import structs
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from sapwood.core.model_calls import Answer, Delta, Failure, ToolSpec
from sapwood.core.view import Request
from sapwood.models.call_settings import settings_for
from sapwood.models.clients import Clients
from sapwood.models.failures import failure_of
from sapwood.models.history_cache import HistoryCache, SendPlan
from sapwood.models.model_facts import price_of
from sapwood.models.model_routes import ModelRoute
from sapwood.models.retry import Timeouts
from sapwood.models.warmup import warm_up
from sapwood.models.wire.model_request import (
    instructions,
    model_messages,
    thinking_field,
    tool_definitions,
)
from sapwood.models.wire.model_response import answer_of, delta_of, ending_of, reason_of
from sapwood.trace_context import current_traceparent

__all__ = ["Caller"]

_OUTPUT = "output_schema"
"""The parameter for the JSON Schema of the answer."""


class Caller:
    """Makes calls, and keeps the connections and the histories that were sent."""

    def __init__(self, keys: Mapping[str, str], timeouts: Timeouts) -> None:
        self._keys = keys
        self._history = HistoryCache()
        self._clients = Clients(keys, timeouts, self._history)

    def has_client(self, route: ModelRoute) -> bool:
        """Whether the client of a route exists."""
        return self._clients.has_model(route)

    def load(self, route: ModelRoute) -> None:
        """Creates the client of a route, which imports its provider's library.

        Blocks, so it must not run in an event loop.
        """
        warm_up(route.wire)
        self._clients.model(route)

    async def aclose(self) -> None:
        """Closes all connections."""
        await self._clients.aclose()

    async def call(
        self,
        route: ModelRoute,
        request: Request,
        tools: Sequence[ToolSpec],
        params: Mapping[str, object],
    ) -> AsyncGenerator[Delta | Answer]:
        """Makes one attempt: yields deltas, then the answer. Raises `Failure`."""
        try:
            field = thinking_field(request.messages, route)
            model = self._clients.model(route, field)
            plan = self._plan(route, field, request, tools, params)
            settings = {name: value for name, value in params.items() if name != _OUTPUT}
            async with self._clients.track_call(plan) as headers:
                request_stream = model_request_stream(
                    model,
                    model_messages(request.messages, route, plan.start),
                    model_settings=_settings(model, route, settings, headers),
                    model_request_parameters=ModelRequestParameters(
                        function_tools=list(_definitions(tuple(tools))),
                        instruction_parts=instructions(request.system),
                        **_output(model, bool(tools), params),
                    ),
                    instrument=False,
                )
                async with request_stream as stream:
                    async for event in stream:
                        delta = delta_of(event)
                        if delta is not None:
                            yield delta
                    response = stream.get()
        except Failure:
            raise
        except Exception as error:
            raise failure_of(error, route, self._keys.values()) from error
        yield _complete_answer(response, route)

    def _plan(
        self,
        route: ModelRoute,
        field: str,
        request: Request,
        tools: Sequence[ToolSpec],
        params: Mapping[str, object],
    ) -> SendPlan:
        scope_parts = (route, field, list(tools), repr(sorted(params.items())))
        scope = msgspec.msgpack.encode(scope_parts)
        return self._history.plan(route.wire, scope, request.messages)


def _settings(
    model: Model, route: ModelRoute, params: Mapping[str, object], headers: dict[str, str]
) -> ModelSettings:
    settings = settings_for(
        route.wire,
        params,
        ignored=model.unsupported_settings,
        binds_thinking=bool(model.profile.get("anthropic_binds_thinking_blocks")),
    )
    trace = current_traceparent()
    sent = {**headers, "traceparent": trace} if trace else headers
    return cast("ModelSettings", {**settings, "extra_headers": sent})


def _output(model: Model, has_tools: bool, params: Mapping[str, object]) -> dict[str, Any]:
    """How the model is told the JSON Schema of its answer: by its API, else in the instructions."""
    schema = params.get(_OUTPUT)
    if not isinstance(schema, str):
        return {}
    decoded = msgspec.json.decode(schema, type=dict[str, Any])
    native = bool(model.profile.get("supports_json_schema_output"))
    if has_tools and model.system == "google":
        native = bool(model.profile.get("google_supports_tool_combination"))
    return {
        "output_mode": "native" if native else "prompted",
        "output_object": OutputObjectDefinition(decoded, name="answer"),
        "allow_text_output": True,
    }


@lru_cache(maxsize=64)
def _definitions(tools: tuple[ToolSpec, ...]) -> tuple[ToolDefinition, ...]:
    return tuple(tool_definitions(tools))


def _complete_answer(response: ModelResponse, route: ModelRoute) -> Answer:
    """The answer of a response. Raises `Failure` if it broke off or the model refused."""
    ending = ending_of(response)
    reason = reason_of(response)
    if ending == "cut":
        raise Failure("cut", f"The answer of {route.title} broke off. Try again.", again=True)
    if ending == "broken":
        sentence = f"{route.title} gave up in the middle of its answer ({reason}). Try again."
        raise Failure("cut", sentence, again=True)
    answer = _priced(answer_of(response, route, ending))
    if ending == "refused" and not answer.parts:
        raise Failure("refused", f"{route.title} declined to answer ({reason}).")
    return answer


def _priced(answer: Answer) -> Answer:
    """The answer with its cost added, if the price is known."""
    if answer.usage is None:
        return answer
    price = price_of(answer.model, answer.usage)
    if price is None:
        return answer
    usage = structs.replace(answer.usage, cost=price.millionths)
    return structs.replace(answer, usage=usage)
