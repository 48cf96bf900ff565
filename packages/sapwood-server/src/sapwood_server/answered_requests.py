"""Answers to requests with an id, kept for a while: the same id again gives the first answer.

The same id with another route or body is refused. What was refused or held is not kept, as the log
keeps no receipt of it: nothing was done, so the same request can succeed later. A request that
comes while the first one with its id is still carried out waits for the answer to it.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from sapwood.core.errors import RefusedError
from sapwood.core.refusals import CommandIdUsed

KEPT_SECONDS = 600.0
_MAX_ANSWERS = 10_000
_MAX_BYTES = 32_000_000


class RequestContent(Struct, frozen=True):
    """What a request asks for: its method and path, and a digest of its body without the id."""

    route: str
    digest: str = ""


class AnsweredRequests:
    """The first answers of one process, by space and id. The oldest are forgotten first."""

    def __init__(self, seconds: float = KEPT_SECONDS) -> None:
        self._seconds = seconds
        self._answers: OrderedDict[tuple[str, str], _Answered] = OrderedDict()
        self._running: dict[tuple[str, str], _Running] = {}
        self._bytes = 0

    async def once(
        self,
        space: str,
        id: str,
        content: RequestContent,
        answer: Callable[[], Awaitable[Response]],
    ) -> Response:
        """The first answer to the request with this id, or else that of `answer`.

        Raises `RefusedError` if the first request with this id asked for something else.
        """
        key = (space, id)
        while True:
            if (known := self._known(key)) is not None:
                _require_same(known.content, content)
                return _again(known.response)
            running = self._running.get(key)
            if running is None:
                break
            _require_same(running.content, content)
            first = await asyncio.shield(running.settled)
            if first is not None:
                return _again(first)
        settled = asyncio.get_running_loop().create_future()
        self._running[key] = _Running(content, settled)
        shared: Response | None = None
        try:
            response = await answer()
            shared = None if isinstance(response, StreamingResponse) else response
            if _is_settled(response):
                self._keep(key, content, response)
            return response
        finally:
            del self._running[key]
            settled.set_result(shared)

    def has(self, space: str, id: str) -> bool:
        """Whether the answer to the request with this id is kept."""
        return self._known((space, id)) is not None

    def forget(self, space: str) -> None:
        """Forgets all answers of a space, as a restart of the process does.

        What was carried out is known to the log, so nothing is carried out twice.
        """
        for key in [key for key in self._answers if key[0] == space]:
            self._bytes -= len(self._answers.pop(key).response.body)

    def _known(self, key: tuple[str, str]) -> "_Answered | None":
        now = time.monotonic()
        while self._answers and self._is_over(now):
            _, old = self._answers.popitem(last=False)
            self._bytes -= len(old.response.body)
        return self._answers.get(key)

    def _is_over(self, now: float) -> bool:
        oldest = next(iter(self._answers.values()))
        too_many = len(self._answers) > _MAX_ANSWERS or self._bytes > _MAX_BYTES
        return too_many or now - oldest.at > self._seconds

    def _keep(self, key: tuple[str, str], content: RequestContent, response: Response) -> None:
        self._answers[key] = _Answered(time.monotonic(), content, response)
        self._bytes += len(response.body)


class _Answered(Struct, frozen=True):
    at: float
    content: RequestContent
    response: Response


class _Running(Struct, frozen=True):
    content: RequestContent
    settled: "asyncio.Future[Response | None]"


def _require_same(first: RequestContent, content: RequestContent) -> None:
    if first != content:
        raise RefusedError(CommandIdUsed(used_for=first.route))


def _is_settled(response: Response) -> bool:
    """Whether something was done: then the answer is the last word on its command.

    A submission that was refused may have been carried out up to the refusal, and one that was
    accepted may be held. A stream cannot be given again.
    """
    if isinstance(response, StreamingResponse):
        return False
    if response.status_code == 202:
        return _decode(response.body).prompt != "held"
    if response.status_code < 400:
        return True
    return response.status_code < 500 and bool(_decode(response.body).done)


class _Done(Struct, frozen=True):
    """What an answer says was done: the steps before a refusal, and what came of a prompt."""

    done: tuple[object, ...] = ()
    prompt: str = ""


_decode = msgspec.json.Decoder(_Done).decode


def _again(first: Response) -> Response:
    headers = {
        **{k: v for k, v in first.headers.items() if k not in ("content-length", "content-type")},
        "Idempotency-Replayed": "true",
    }
    return Response(
        first.body, first.status_code, headers=headers, media_type=first.headers["content-type"]
    )
