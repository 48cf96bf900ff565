"""The HTTP client for servers that may do harm: what they answer ends in time.

The login to an MCP server, its renewal and the connection to the server use it.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx2


def limited_client(*, seconds: float | None = None, **options: Any) -> httpx2.AsyncClient:
    """A client whose requests each end within `seconds`, if given, the whole answer included.

    The usual timeouts count from one byte to the next, so a server that sends one now and then
    would never meet them. `options` are those of `httpx2.AsyncClient`.
    """
    return httpx2.AsyncClient(transport=_LimitedTransport(seconds), **options)


class _LimitedTransport(httpx2.AsyncBaseTransport):
    """Sends requests, by the proxies of the environment, and limits their answers."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._direct = httpx2.AsyncHTTPTransport()
        self._proxies = _environment_proxies()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, whose body is read later."""
        limit = _Limit(request, self._seconds)
        async with limit.in_time():
            response = await self._transport(request.url).handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _LimitedStream(response.stream, limit)
        return response

    async def aclose(self) -> None:
        """Closes all connections."""
        for transport in (self._direct, *self._proxies.values()):
            await transport.aclose()

    def _transport(self, url: httpx2.URL) -> httpx2.AsyncBaseTransport:
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
        return self._direct if proxy is None or proxy_bypass(url.host) else proxy


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

    def __init__(self, stream: httpx2.AsyncByteStream, limit: _Limit) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = aiter(self._stream)
        while True:
            async with self._limit.in_time():
                piece = await anext(pieces, None)
            if piece is None:
                return
            yield piece

    async def aclose(self) -> None:
        """Closes the stream."""
        await self._stream.aclose()
