"""One call of one model: a request goes out, deltas come back, and at the end the answer.

Imported at the first call. Tries once; when to try again is not decided here.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import lru_cache
from typing import cast

import msgspec
from msgspec import structs
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from sapwood.core.calling import Answer, Delta, Failure, ToolSpec
from sapwood.core.view import Request
from sapwood.models.clients import Clients
from sapwood.models.failures import failure_of
from sapwood.models.names import Route
from sapwood.models.params import settings_for
from sapwood.models.patience import Timeouts
from sapwood.models.rehearsal import rehearse
from sapwood.models.splicing import Histories, Plan
from sapwood.models.windows import price_of
from sapwood.models.wire.answering import Listener, answered, ending_of, reason_of
from sapwood.models.wire.asking import asked, instructions, offered, thinking_field

__all__ = ["Caller"]


class Caller:
    """Makes calls; holds the connections and what was sent."""

    def __init__(self, keys: Mapping[str, str], timeouts: Timeouts) -> None:
        self._keys = keys
        self._histories = Histories()
        self._clients = Clients(keys, timeouts, self._histories)

    def knows(self, route: Route) -> bool:
        """Whether the client of a route is made."""
        return self._clients.knows(route)

    def load(self, route: Route) -> None:
        """Makes the client of a route, which loads its provider's library. Not from a loop."""
        rehearse(route.wire)
        self._clients.model(route)

    async def aclose(self) -> None:
        """Closes every connection."""
        await self._clients.aclose()

    async def call(
        self,
        route: Route,
        request: Request,
        tools: Sequence[ToolSpec],
        params: Mapping[str, object],
    ) -> AsyncGenerator[Delta | Answer]:
        """One try."""
        try:
            field = thinking_field(request.messages, route)
            model = self._clients.model(route, field)
            plan = self._plan(route, field, request, tools, params)
            async with self._clients.calling(plan) as headers:
                opening = model_request_stream(
                    model,
                    asked(request.messages, route, plan.start),
                    model_settings=_settings(model, route, params, headers),
                    model_request_parameters=ModelRequestParameters(
                        function_tools=list(_definitions(tuple(tools))),
                        instruction_parts=instructions(request.system),
                    ),
                    instrument=False,
                )
                listener = Listener()
                async with opening as stream:
                    async for event in stream:
                        delta = listener.heard(event)
                        if delta is not None:
                            yield delta
                    response = stream.get()
        except Failure:
            raise
        except Exception as error:
            raise failure_of(error, route, self._keys.values()) from error
        yield _whole(response, route)

    def _plan(
        self,
        route: Route,
        field: str,
        request: Request,
        tools: Sequence[ToolSpec],
        params: Mapping[str, object],
    ) -> Plan:
        heeded = (route, field, list(tools), repr(sorted(params.items())))
        scope = msgspec.msgpack.encode(heeded)
        return self._histories.plan(route.wire, scope, request.messages)


def _settings(
    model: Model, route: Route, params: Mapping[str, object], headers: dict[str, str]
) -> ModelSettings:
    settings = settings_for(
        route.wire,
        params,
        ignored=model.unsupported_settings,
        binds_thinking=bool(model.profile.get("anthropic_binds_thinking_blocks")),
    )
    return cast("ModelSettings", {**settings, "extra_headers": headers})


@lru_cache(maxsize=64)
def _definitions(tools: tuple[ToolSpec, ...]) -> tuple[ToolDefinition, ...]:
    return tuple(offered(tools))


def _whole(response: ModelResponse, route: Route) -> Answer:
    """The answer, if that is what the stream was."""
    ending = ending_of(response)
    reason = reason_of(response)
    if ending == "cut":
        raise Failure("cut", f"The answer of {route.title} broke off. Try again.", again=True)
    if ending == "broken":
        sentence = f"{route.title} gave up in the middle of its answer ({reason}). Try again."
        raise Failure("cut", sentence, again=True)
    answer = _priced(answered(response, route, ending))
    if ending == "refused" and not answer.parts:
        raise Failure("refused", f"{route.title} declined to answer ({reason}).")
    return answer


def _priced(answer: Answer) -> Answer:
    """The answer with what it cost, where the price is known."""
    if answer.usage is None:
        return answer
    price = price_of(answer.model, answer.usage)
    if price is None:
        return answer
    usage = structs.replace(answer.usage, cost=price.millionths)
    return structs.replace(answer, usage=usage)
