"""Event streams end when their token is revoked or has expired, and only then."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from starlette.requests import Request

from sapwood.config.server_tokens import FileTokens, TokenStore
from sapwood_server.access.identity import Identities
from sapwood_server.access.stream_access import StreamAccess


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    """The tokens of the server."""
    return TokenStore(tmp_path / "tokens.json")


@pytest.fixture
async def access(store: TokenStore) -> AsyncGenerator[StreamAccess]:
    """Streams that are checked often."""
    found = StreamAccess(Identities(FileTokens(store), "local"), seconds=0.02)
    yield found
    await found.close()


def request_with(token: str) -> Request:
    headers = [(b"authorization", f"Bearer {token}".encode())]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": headers})


async def stream(access: StreamAccess, store: TokenStore, token: str, to: asyncio.Event) -> bool:
    """A stream until `to` is set. Returns whether it came to its own end."""
    request = request_with(token)
    principal = await Identities(FileTokens(store), "local").of(request)

    async def wait() -> None:
        await to.wait()

    return await access.run(request, principal, wait)


async def test_a_revoked_token_ends_its_streams_and_no_other(
    access: StreamAccess, store: TokenStore
) -> None:
    gone, record = store.create("eve", "local", ("read",))
    kept, _ = store.create("ada", "local", ("read",))
    over = asyncio.Event()
    stolen = [asyncio.create_task(stream(access, store, gone, over)) for _ in range(3)]
    other = asyncio.create_task(stream(access, store, kept, over))
    await asyncio.sleep(0.1)
    assert not any(each.done() for each in (*stolen, other))
    store.revoke(record.id)
    async with asyncio.timeout(20):
        assert await asyncio.gather(*stolen) == [False] * 3
    assert not other.done()
    over.set()
    assert await other


async def test_an_expired_token_ends_its_stream(access: StreamAccess, store: TokenStore) -> None:
    token, _ = store.create("eve", "local", ("read",), seconds=2)
    async with asyncio.timeout(20):
        assert not await stream(access, store, token, asyncio.Event())


async def test_a_stream_goes_on_while_tokens_cannot_be_read(
    access: StreamAccess, store: TokenStore
) -> None:
    token, _ = store.create("ada", "local", ("read",))
    over = asyncio.Event()
    running = asyncio.create_task(stream(access, store, token, over))
    await asyncio.sleep(0)
    store.file.write_bytes(b"{")
    await asyncio.sleep(0.2)
    assert not running.done()
    over.set()
    assert await running
