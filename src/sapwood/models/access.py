"""`Models`: the one door to every model. Finds the way, checks, tries, tries again.

Light to import: what talks to providers is loaded by the first call, in a thread, because it takes
about a second in which a screen should not stand still.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sapwood.core.calling import Answer, Delta, Failure, ToolSpec
from sapwood.core.ids import AgentId
from sapwood.core.live import EMPTY
from sapwood.core.state import State
from sapwood.core.view import Request
from sapwood.core.view.rules.alternation import Alternation
from sapwood.core.view.rules.pairing import Pairing
from sapwood.models.names import Route, resolve
from sapwood.models.patience import Patience, Timeouts
from sapwood.models.windows import window_of

if TYPE_CHECKING:
    from sapwood.models.calls import Caller

__all__ = ["Models"]

_NOBODY = State(AgentId(""))


class Models:
    """Access to the models of every provider that there is a key or an address for.

    `keys` are by provider: `anthropic`, `openai`, `google`. `urls` replace the addresses of those,
    and give those of `compatible` and of any other server that speaks OpenAI's chat format, under
    the name that its models are asked for by. An instance belongs to one event loop.

    >>> models = Models({"anthropic": "…"}, urls={"den": "http://127.0.0.1:11434/v1"})
    >>> models.window_of("claude-sonnet-4-5")
    200000
    """

    def __init__(
        self,
        keys: Mapping[str, str],
        *,
        urls: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._keys = {name: key.strip() for name, key in keys.items()}
        self._urls = dict(urls or {})
        self._patience = patience or Patience()
        self._timeouts = timeouts or Timeouts()
        self._caller: Caller | None = None
        self._loading = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes every connection. The next call opens new ones."""
        caller, self._caller = self._caller, None
        if caller is not None:
            await caller.aclose()

    def window_of(self, model: str) -> int | None:
        """How many tokens a request to the model may have, where that is known."""
        return window_of(model)

    async def warm(self, model: str) -> None:
        """Loads what calls to a model need, so that the first one does not wait for it."""
        await self._ready(resolve(model, self._urls))

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        """Deltas as they arrive, then the whole answer, once. Raises `Failure`.

        A call that fails before its first delta is made again, as `Patience` says; after that it
        is not, because what was shown cannot be taken back. Cancelling closes the connection.
        """
        route = self._route(request)
        _check(request)
        caller = await self._ready(route)
        tried = 0
        while True:
            tried += 1
            handed = False
            try:
                async with aclosing(caller.call(route, request, tools, params or {})) as pieces:
                    async for piece in pieces:
                        handed = True
                        yield piece
                return
            except Failure as failure:
                wait = self._patience.wait(failure, tried, random.random())
                if handed or wait is None:
                    raise
            await asyncio.sleep(wait)

    def _route(self, request: Request) -> Route:
        route = resolve(request.model, self._urls)
        if route.needs_key and not self._keys.get(route.account):
            raise Failure(
                "no_key",
                f"There is no key for {route.title}. Set {route.variable}, then try again.",
            )
        return route

    async def _ready(self, route: Route) -> "Caller":
        if self._caller is None or not self._caller.knows(route):
            async with self._loading:
                self._caller = await asyncio.to_thread(self._loaded, route)
        return self._caller

    def _loaded(self, route: Route) -> "Caller":
        try:
            from sapwood.models.calls import Caller

            caller = self._caller or Caller(self._keys, self._timeouts)
            caller.load(route)
        except ImportError as error:
            raise Failure(
                "other", "Model access is not installed. Run: pip install 'sapwood[models]'"
            ) from error
        return caller


def _check(request: Request) -> None:
    """The last look before anything is sent: libraries send a broken history as it is."""
    rules = (Alternation(), Pairing())
    faults = [fault for rule in rules for fault in rule.broken(request, _NOBODY, EMPTY)]
    if not request.messages:
        faults = ["there is no message"]
    if faults:
        raise Failure(
            "refused",
            f"Sapwood made a request that no model takes: {'; '.join(faults)}. "
            "Nothing was sent. This is a defect of Sapwood; please report it.",
        )
