"""One signed-in client of a server: requests that are repeated safely, and streams that resume.

Nothing is sent twice with an effect: whatever changes something carries an id.

Turns the problem documents of a server into the errors that the library raises.

The tokens with which this user signs in to servers: of the environment, or kept privately.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from functools import cache
from pathlib import Path
from typing import TypeVar, get_args
from urllib.parse import quote, urlsplit

import httpx2
import msgspec
from msgspec import Raw, Struct

from sapwood.config.folders import config_folder
from sapwood.core.errors import LogError, LogUnavailable, RefusedError, SapwoodError
from sapwood.core.log_values import AvailabilityListener
from sapwood.core.model_calls import Failure, FailureKind
from sapwood.core.refusals import Refusal
from sapwood.private_files import locked, replace_file

T = TypeVar("T")

_REQUEST = 60.0
_WORK = 900.0
"""Seconds. A summary can take longer than a read timeout. A request that the server has is sent
again with its id for that long, however short the patience is, and gets the first answer."""
_SILENCE = 45.0
"""Seconds. The server sends a comment every 15, so a longer silence is a lost connection."""
_FIRST_PAUSE, _MAX_PAUSE = 0.2, 5.0
_LOCAL = ("127.0.0.1", "localhost", "::1")

_log = logging.getLogger("sapwood.client")
_encode = msgspec.json.Encoder(enc_hook=str).encode


class HttpSession:
    """Sends requests with a token. `patience` is how long a server may stay away, in seconds."""

    def __init__(
        self,
        address: str,
        token: str,
        *,
        patience: float = 30.0,
        transport: httpx2.AsyncBaseTransport | None = None,
        on_availability: AvailabilityListener | None = None,
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme == "http" and parts.hostname not in _LOCAL:
            _log.warning(
                "The token is sent to %s without encryption. Use https:// unless you control the "
                "network in between.",
                parts.hostname,
            )
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
        self.patience = patience
        self._on_availability = on_availability
        self._client = httpx2.AsyncClient(
            base_url=self.address,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=httpx2.Timeout(_REQUEST, connect=10.0),
            transport=transport,
            trust_env=parts.hostname not in _LOCAL,
        )

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()

    async def get(self, path: str, kind: type[T], **query: str) -> T:
        """The answer to a request that changes nothing."""
        return _decoded(await self._sent("GET", path, query=query), kind)

    async def post(self, path: str, body: Mapping[str, object], kind: type[T]) -> T:
        """The answer to a request with a body in JSON. It may arrive twice, so it has an id."""
        headers = {"Content-Type": "application/json"}
        work = _WORK if "id" in body else 0.0
        content = _encode(body)
        return _decoded(await self._sent("POST", path, content, headers=headers, work=work), kind)

    async def upload(self, path: str, content: bytes, kind: type[T], **query: str) -> T:
        """The answer to a file."""
        headers = {"Content-Type": "application/octet-stream"}
        return _decoded(await self._sent("POST", path, content, query=query, headers=headers), kind)

    async def stream(self, path: str, last: str) -> AsyncGenerator[httpx2.ServerSentEvent]:
        """Yields the messages of an event stream after the one with the id `last`.

        A lost connection is opened again after the last message that was received: none is missed
        and none is repeated. Never ends by itself. Raises `LogUnavailable` if no server answers.
        """
        pause = _FIRST_PAUSE
        deadline = self._deadline()
        while True:
            try:
                async with aclosing(self._messages(path, last)) as messages:
                    async for message in messages:
                        last = message.id or last
                        if message.data:  # without data, it only moves the id
                            pause, deadline = _FIRST_PAUSE, self._deadline()
                            yield message
            except LogUnavailable:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(_MAX_PAUSE, pause * 2)

    async def _messages(self, path: str, last: str) -> AsyncGenerator[httpx2.ServerSentEvent]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        timeout = httpx2.Timeout(_SILENCE, connect=10.0)
        try:
            async with self._client.stream("GET", path, headers=headers, timeout=timeout) as answer:
                if answer.status_code != 200:
                    body = await answer.aread()
                    raise error_of(answer.status_code, body, self.address)
                self._report("")
                async for message in httpx2.EventSource(answer, max_event_size=None):
                    yield message
        except httpx2.HTTPError as error:
            self._report(_reason(error))
            raise self._away(error) from error

    async def _sent(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        work: float = 0.0,
    ) -> bytes:
        """The body of the answer. A server that works on a request for up to `work` is not away."""
        pause = _FIRST_PAUSE
        deadline = self._deadline()
        work_ends = asyncio.get_running_loop().time() + work
        while True:
            is_slow = False
            try:
                answer = await self._client.request(
                    method, path, content=content, params=query or None, headers=headers
                )
            except httpx2.HTTPError as error:
                self._report(_reason(error))
                problem, wait = self._away(error), pause
                is_slow = isinstance(error, httpx2.ReadTimeout)
            else:
                if answer.is_success:
                    self._report("")
                    return answer.content
                problem = error_of(answer.status_code, answer.content, self.address)
                if answer.status_code not in (429, 502, 503, 504):
                    raise problem
                wait = pause
                is_slow = answer.status_code == 504
                with suppress(ValueError):
                    wait = max(pause, float(answer.headers.get("retry-after", "")))
            now = asyncio.get_running_loop().time()
            if is_slow and now < work_ends:
                pause, deadline = _FIRST_PAUSE, self._deadline()
            elif now + wait > deadline:
                raise problem
            await asyncio.sleep(wait)
            pause = min(_MAX_PAUSE, pause * 2)

    def _away(self, error: Exception) -> LogUnavailable:
        why = _reason(error)
        return LogUnavailable(
            f"The server at {self.address} is not responding: {why}. Try again later."
        )

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self.patience

    def _report(self, problem: str) -> None:
        if self._on_availability is not None:
            self._on_availability(problem)


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _decoded(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise LogError(
            f"The server's answer could not be read: {error}. Use the same version of Sapwood on "
            "both sides."
        ) from error


def path_of(*words: str) -> str:
    """A path of these words, each quoted.

    >>> path_of("v1", "agents", "a/b")
    '/v1/agents/a%2Fb'
    """
    return "".join(f"/{quote(word, safe='')}" for word in words)


class RemoteRefusal(Refusal, frozen=True):
    """A refusal of a kind that only the server knows: its name and its sentence."""

    name: str
    words: str

    @property
    def sentence(self) -> str:
        """The sentence of the server."""
        return self.words


class _ProblemDocument(Struct, frozen=True):
    """A problem document (RFC 9457) with the fields that the server adds."""

    type: str = ""
    title: str = ""
    status: int = 0
    detail: str = ""
    refusal: str = ""
    fields: Raw = Raw(b"{}")
    failure: str = ""


def error_of(status: int, body: bytes, address: str) -> Exception:
    """The error that an answer of the server stands for."""
    try:
        problem = msgspec.json.decode(body, type=_ProblemDocument)
    except msgspec.MsgspecError:
        problem = _ProblemDocument(detail=f"The server at {address} answered with status {status}.")
    if problem.refusal:
        return RefusedError(_refusal(problem))
    if problem.failure in get_args(FailureKind):
        return Failure(msgspec.convert(problem.failure, FailureKind), problem.detail)
    match status:
        case 401:
            return LogError(
                f"The server at {address} does not recognize this token. Set a valid one in "
                "SAPWOOD_TOKEN, or type: sapwood login"
            )
        case 502 | 503 | 504:
            return LogUnavailable(problem.detail)
        case 403 | 421 | 429:
            return LogError(problem.detail)
        case _ if status >= 500:
            return LogError(problem.detail)
        case _:
            return SapwoodError(problem.detail)


def _refusal(problem: _ProblemDocument) -> Refusal:
    """The refusal as its own class, if this version has it."""
    kind = _kinds().get(problem.refusal)
    if kind is not None:
        try:
            return msgspec.json.decode(problem.fields, type=kind)
        except msgspec.MsgspecError:
            pass
    return RemoteRefusal(problem.refusal, problem.detail)


@cache
def _kinds() -> dict[str, type[Refusal]]:
    return {each.__name__: each for each in Refusal.__subclasses__()}


VARIABLE = "SAPWOOD_TOKEN"


def login_file() -> Path:
    """The file of the kept tokens. Only its owner can read it."""
    return config_folder() / "logins.json"


def server_token(address: str) -> str:
    """The token for a server: of the environment, else the kept one; empty if there is none."""
    return os.environ.get(VARIABLE, "").strip() or _read().get(_origin(address), "")


def keep_login(address: str, token: str) -> None:
    """Keeps the token for a server."""
    with locked(login_file()):
        _write({**_read(), _origin(address): token})


def forget_login(address: str) -> bool:
    """Removes the token for a server. Returns whether there was one."""
    with locked(login_file()):
        kept = _read()
        if kept.pop(_origin(address), None) is None:
            return False
        _write(kept)
        return True


def _origin(address: str) -> str:
    """The part of an address that names the server.

    >>> _origin("https://Sapwood.example/x")
    'https://sapwood.example'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"


def _read() -> dict[str, str]:
    file = login_file()
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise SapwoodError(
            f"{file} cannot be read: {error}. Sign in again: sapwood login"
        ) from None


def _write(kept: dict[str, str]) -> None:
    replace_file(login_file(), msgspec.json.encode(kept).decode() + "\n")
