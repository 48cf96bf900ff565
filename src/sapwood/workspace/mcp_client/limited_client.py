"""The HTTP client for servers that may do harm: what they answer has a largest size, and an end.

The login to an MCP server, its renewal and the connection to the server use it.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx2

from sapwood.workspace.mcp_client.server_text import one_line

_OK = 200


HTTP_ERRORS = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL)
"""What requests of the client raise."""


class AnswerTooLarge(httpx2.StreamError):
    """A body was larger than the limit. What was read of it is dropped."""


def http_reason(error: Exception) -> str:
    """What was wrong with a request, without what was sent."""
    if isinstance(error, httpx2.ProtocolError):  # its message quotes headers
        return "the request or its answer is not valid HTTP"
    return one_line(str(error)).rstrip(".") or type(error).__name__


def limited_client(
    *, max_bytes: int, seconds: float | None = None, **options: Any
) -> httpx2.AsyncClient:
    """A client that reads bodies up to this size.

    Each request ends within `seconds`, if given, the whole answer included: the usual timeouts
    count from one byte to the next, so a server that sends one now and then would never meet them.
    A stream of events may be longer in all; its reader limits each event. `options` are those of
    `httpx2.AsyncClient`.
    """
    return httpx2.AsyncClient(transport=_LimitedTransport(max_bytes, seconds), **options)


class _LimitedTransport(httpx2.AsyncBaseTransport):
    """Sends requests, by the proxies of the environment, and limits their answers."""

    def __init__(self, max_bytes: int, seconds: float | None) -> None:
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._direct = httpx2.AsyncHTTPTransport()
        self._proxies = _environment_proxies()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, whose body is read later."""
        # A few bytes that are compressed can be a body of any size.
        request.headers["Accept-Encoding"] = "identity"
        limit = _Limit(request, self._seconds)
        async with limit.in_time():
            response = await self._transport(request.url).handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.stream.aclose()
            raise httpx2.DecodingError(
                "it sent a compressed answer, which was not asked for", request=request
            )
        max_bytes = None if _is_event_stream(request, response) else self._max_bytes
        response.stream = _LimitedStream(response.stream, limit, max_bytes)
        return response

    async def aclose(self) -> None:
        """Closes all connections."""
        for transport in (self._direct, *self._proxies.values()):
            await transport.aclose()

    def _transport(self, url: httpx2.URL) -> httpx2.AsyncBaseTransport:
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
        return self._direct if proxy is None or proxy_bypass(url.host) else proxy


def _is_event_stream(request: httpx2.Request, response: httpx2.Response) -> bool:
    """Whether the library reads the body event by event, and not as a whole."""
    kind = response.headers.get("content-type", "").lower()
    is_read = response.status_code == _OK and request.method in ("GET", "POST")
    return is_read and kind.startswith("text/event-stream")


def _environment_proxies() -> Mapping[str, httpx2.AsyncBaseTransport]:
    """The transports for `HTTPS_PROXY` and so on; a client with a transport does not read them."""
    return {
        scheme: httpx2.AsyncHTTPTransport(proxy=proxy if "://" in proxy else f"http://{proxy}")
        for scheme, proxy in getproxies().items()
        if scheme in ("http", "https", "all")
    }


class _Limit:
    """The end of one request."""

    def __init__(self, request: httpx2.Request, seconds: float | None) -> None:
        self._request = request
        self._seconds = seconds
        self._end = None if seconds is None else asyncio.get_running_loop().time() + seconds

    @asynccontextmanager
    async def in_time(self) -> AsyncGenerator[None]:
        """Raises `httpx2.ReadTimeout` at the end of the time."""
        try:
            async with asyncio.timeout_at(self._end):
                yield
        except TimeoutError as error:
            raise httpx2.ReadTimeout(
                f"it did not answer within {self._seconds:g} seconds", request=self._request
            ) from error


class _LimitedStream(httpx2.AsyncByteStream):
    """The body of a response."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, limit: _Limit, max_bytes: int | None
    ) -> None:
        self._stream = stream
        self._limit = limit
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces, size = aiter(self._stream), 0
        while True:
            async with self._limit.in_time():
                piece = await anext(pieces, None)
            if piece is None:
                return
            size += len(piece)
            if self._max_bytes is not None and size > self._max_bytes:
                raise AnswerTooLarge(f"its answer is larger than {self._max_bytes:,} bytes")
            yield piece

    async def aclose(self) -> None:
        """Closes the stream."""
        await self._stream.aclose()
