"""The HTTP client of all providers: sends a request and yields the events of the reply.

Proxies and certificates come from the usual environment variables (`HTTPS_PROXY`, `NO_PROXY`,
`SSL_CERT_FILE`). Redirects are not followed: a conversation goes to the configured address only.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import httpx2
from msgspec import Struct

from sapwood.models.retry import Timeouts
from sapwood.models.wire.provider_error import error_of_response
from sapwood.models.wire.sse import EventReader, ReplyTooLarge, ServerEvent

_MAX_ERROR = 2**20
_DRAIN_SECONDS = 1.0


class HttpPost(Struct, frozen=True):
    """A request: where it goes, its headers, and its body in JSON."""

    url: str
    headers: dict[str, str]
    body: bytes


class HttpClient:
    """Keeps connections open and shares them between calls."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeouts.silence, connect=timeouts.connect),
            limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=100),
            headers={"user-agent": "sapwood", "accept-encoding": "identity"},
        )

    async def aclose(self) -> None:
        """Closes all connections."""
        await self._http.aclose()

    async def answer(self, post: HttpPost) -> bytes:
        """The body of a reply that is no stream. Raises as `events` does."""
        headers = {"content-type": "application/json", **post.headers}
        async with self._http.stream(
            "POST", post.url, content=post.body, headers=headers
        ) as response:
            body = await _beginning(response)
            if response.status_code != 200:
                raise error_of_response(response.status_code, response.headers, body)
            return body

    async def events(self, post: HttpPost) -> AsyncGenerator[ServerEvent]:
        """Yields the events of the reply. Closing the generator closes the reply.

        Raises `ProviderError` for a reply that is not an event stream, `ReplyTooLarge`, and the
        errors of the HTTP library.
        """
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            **post.headers,
        }
        request = self._http.stream("POST", post.url, content=post.body, headers=headers)
        async with request as response:
            kind = response.headers.get("content-type", "")
            if response.status_code != 200 or kind.startswith("application/json"):
                body = await _beginning(response)
                raise error_of_response(response.status_code, response.headers, body)
            reader = EventReader()
            async for piece in response.aiter_bytes():
                for event in reader.feed(piece):
                    yield event


async def drain(events: AsyncGenerator[ServerEvent]) -> None:
    """Reads what follows a complete answer, so that its connection can be used again.

    A server that does not end its reply is not waited for.
    """
    with suppress(TimeoutError, httpx2.HTTPError, ReplyTooLarge):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass


async def _beginning(response: httpx2.Response) -> bytes:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) >= _MAX_ERROR:
            break
    return body[:_MAX_ERROR]
