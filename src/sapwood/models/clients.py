"""Connections to providers, and pydantic-ai's models on them: made once, reused by every call.

Imported at the first call.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from itertools import count

import httpx2
from pydantic_ai.models import Model

from sapwood.models.making import made
from sapwood.models.names import Route
from sapwood.models.patience import Timeouts
from sapwood.models.splicing import Histories, Plan, spliced

__all__ = ["Clients"]

_TICKET = "x-sapwood-call"
_CALL = "sapwood.call"
_NOT_A_KEY = "none"


class _Call:
    """What belongs to one call: how it sends its history, and what came back."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.responses: list[httpx2.Response] = []


class Clients:
    """One HTTP client for all providers, and a model for each route."""

    def __init__(self, keys: Mapping[str, str], timeouts: Timeouts, histories: Histories) -> None:
        self._keys = keys
        self._histories = histories
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeouts.silence, connect=timeouts.connect),
            limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=100),
            event_hooks={"request": [self._prepare], "response": [_remember]},
        )
        self._models: dict[tuple[Route, str], Model] = {}
        self._calls: dict[str, _Call] = {}
        self._count = count()

    def knows(self, route: Route) -> bool:
        """Whether the model of a route is made already."""
        return (route, "") in self._models

    def model(self, route: Route, thinking_field: str = "") -> Model:
        """The model of a route."""
        found = self._models.get((route, thinking_field))
        if found is None:
            key = self._keys.get(route.account) or _NOT_A_KEY
            found = made(route, key, self._http, thinking_field)
            self._models[route, thinking_field] = found
        return found

    @asynccontextmanager
    async def calling(self, plan: Plan) -> AsyncGenerator[dict[str, str]]:
        """Headers by which the requests of one call are known, so that they get their past.

        They say nothing to a provider: they are taken off before anything is sent. When the call is
        over, however it ended, its connection is not left to a library to close.
        """
        ticket = str(next(self._count))
        call = self._calls[ticket] = _Call(plan)
        try:
            yield {_TICKET: ticket}
        finally:
            del self._calls[ticket]
            for response in call.responses:
                await response.aclose()

    async def aclose(self) -> None:
        """Closes every connection."""
        await self._http.aclose()

    async def _prepare(self, request: httpx2.Request) -> None:
        # Google's library would wait for a connection as long as for an answer.
        timeout = self._http.timeout.as_dict()
        call = self._calls.get(request.headers.pop(_TICKET, ""))
        request.extensions = {**request.extensions, "timeout": timeout, _CALL: call}
        if call is not None:
            body, kept = spliced(request.content, call.plan)
            self._histories.keep(call.plan, kept)
            request.stream = httpx2.ByteStream(body)
            request.headers["content-length"] = str(len(body))


async def _remember(response: httpx2.Response) -> None:
    call = response.request.extensions.get(_CALL)
    if isinstance(call, _Call):
        call.responses.append(response)
