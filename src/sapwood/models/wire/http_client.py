"""The HTTP client of all providers: sends a request and yields the events of the reply.

Proxies and certificates come from the usual environment variables (`HTTPS_PROXY`, `NO_PROXY`,
`SSL_CERT_FILE`). Redirects are not followed: a conversation goes to the configured address only.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

import httpx2
from msgspec import Struct

from sapwood.models.retry import Timeouts
from sapwood.models.wire.provider_error import error_of_response
from sapwood.models.wire.sse import EventReader, ReplyTooLarge, ServerEvent

_MAX_ERROR = 2**20
_DRAIN_SECONDS = 1.0
_PAGE = (b"<", b"{", b"[")
"""How HTML and JSON begin, and no event does."""


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
            body = await _beginning(response.aiter_bytes())
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
            pieces = response.aiter_bytes()
            first = b"" if kind.startswith("text/event-stream") else await _first_words(pieces)
            is_page = kind.startswith("application/json") or first.lstrip().startswith(_PAGE)
            if response.status_code != 200 or is_page:
                body = await _beginning(pieces, first)
                raise error_of_response(response.status_code, response.headers, body)
            reader = EventReader()
            for event in reader.feed(first):
                yield event
            async for piece in pieces:
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


async def _first_words(pieces: AsyncIterator[bytes]) -> bytes:
    """The beginning of a body up to the first piece that is more than space; else all of it."""
    first = b""
    async for piece in pieces:
        first += piece
        if first.strip() or len(first) >= _MAX_ERROR:
            break
    return first


async def _beginning(pieces: AsyncIterator[bytes], body: bytes = b"") -> bytes:
    """The beginning of a body, of which `body` was read already."""
    async for piece in pieces:
        body += piece
        if len(body) >= _MAX_ERROR:
            break
    return body[:_MAX_ERROR]
