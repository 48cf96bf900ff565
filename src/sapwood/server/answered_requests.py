"""Answers to requests with an id, kept for a while: the same id again gives the first answer.

A refusal changes nothing, so the log keeps no receipt of it; it is kept here. A request that comes
while the first one with its id is still carried out waits for the answer to it.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.responses import Response, StreamingResponse

__all__ = ["AnsweredRequests"]

_SECONDS = 600.0
_MOST = 10_000
_MOST_BYTES = 32_000_000
_UNSETTLED = frozenset({401, 403, 408, 429})
"""Statuses that say nothing of the command itself."""


class AnsweredRequests:
    """The first answers of one process, by space and id. The oldest are forgotten first."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._answers: OrderedDict[tuple[str, str], tuple[float, Response]] = OrderedDict()
        self._running: dict[tuple[str, str], asyncio.Future[Response | None]] = {}
        self._bytes = 0

    async def once(
        self, space: str, id: str, answer: Callable[[], Awaitable[Response]]
    ) -> Response:
        """The first answer to the request with this id, or else that of `answer`."""
        key = (space, id)
        while True:
            if (known := self._known(key)) is not None:
                return _again(known)
            running = self._running.get(key)
            if running is None:
                break
            first = await asyncio.shield(running)
            if first is not None:
                return _again(first)
        self._running[key] = settled = asyncio.get_running_loop().create_future()
        kept: Response | None = None
        try:
            response = await answer()
            if _is_settled(response):
                kept = response
                self._keep(key, response)
            return response
        finally:
            del self._running[key]
            settled.set_result(kept)

    def forget(self) -> None:
        """Forgets all answers, as a restart of the process does."""
        self._answers.clear()
        self._bytes = 0

    def _known(self, key: tuple[str, str]) -> Response | None:
        now = time.monotonic()
        while self._answers and self._is_over(now):
            _, (_, old) = self._answers.popitem(last=False)
            self._bytes -= len(old.body)
        found = self._answers.get(key)
        return found[1] if found else None

    def _is_over(self, now: float) -> bool:
        kept_at, _ = next(iter(self._answers.values()))
        too_many = len(self._answers) > _MOST or self._bytes > _MOST_BYTES
        return too_many or now - kept_at > self._seconds

    def _keep(self, key: tuple[str, str], response: Response) -> None:
        self._answers[key] = (time.monotonic(), response)
        self._bytes += len(response.body)


def _is_settled(response: Response) -> bool:
    """Whether the answer is the last word on its command. A stream cannot be given again."""
    if isinstance(response, StreamingResponse):
        return False
    return response.status_code < 500 and response.status_code not in _UNSETTLED


def _again(first: Response) -> Response:
    headers = {
        **{k: v for k, v in first.headers.items() if k not in ("content-length", "content-type")},
        "Idempotency-Replayed": "true",
    }
    return Response(
        first.body, first.status_code, headers=headers, media_type=first.headers["content-type"]
    )
