"""A browser session ends with the token that it was made from, in every server."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from sapwood.app.connection import connect
from sapwood.config.server_tokens import MAX_SESSIONS, FileTokens, Tokens, TokenStore
from sapwood_server.access.identity import Identities
from sapwood_server.server_tables import tokens_of
from tests.server.serving import STORES

pytestmark = pytest.mark.parametrize("store", STORES)


@pytest.fixture
async def two_servers(
    store: str, database: str, tmp_path: Path
) -> AsyncGenerator[tuple[Tokens, Tokens]]:
    """The tokens as two servers of one database know them."""
    if store == "sqlite":
        yield FileTokens(TokenStore(tmp_path / "t")), FileTokens(TokenStore(tmp_path / "t"))
        return
    async with AsyncExitStack() as stack:
        logs: list[Tokens] = []
        for _ in range(2):
            opened = await connect(database, secrets=())
            stack.push_async_callback(opened.close)
            logs.append(tokens_of(opened.log))
        yield logs[0], logs[1]


async def eventually_gone(find: Callable[[str], Awaitable[Any]], value: str) -> None:
    async with asyncio.timeout(10):
        while await find(value):  # noqa: ASYNC110 # of another process
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", ["id", "name"])
async def test_revoking_a_token_ends_its_sessions_everywhere(
    two_servers: tuple[Tokens, Tokens], way: str
) -> None:
    here, there = two_servers
    token, record = await here.create("laptop", "local", ("read",))
    other, _ = await here.create("phone", "local", ("read",))
    cookies = [await Identities(each, "local").exchange(token) for each in two_servers]
    kept = await Identities(here, "local").exchange(other)
    for cookie in cookies:
        assert await there.find(cookie)
    gone = await here.revoke(record.id if way == "id" else "laptop")
    assert {each.kind for each in gone} == {"token", "session"}
    assert len(gone) == 3
    for cookie in cookies:
        await eventually_gone(here.find, cookie)
        await eventually_gone(there.find, cookie)
    assert await there.find(kept)


async def test_a_session_ends_when_its_token_expires(two_servers: tuple[Tokens, Tokens]) -> None:
    here, there = two_servers
    token, record = await here.create("laptop", "local", ("read",), seconds=1)
    value, session = await here.create(
        "laptop", "local", ("read",), seconds=600, kind="session", parent=record.id
    )
    assert session.parent == record.id
    await eventually_gone(there.find, value)
    assert await here.find(token) is None


async def test_a_session_without_its_token_is_unknown(two_servers: tuple[Tokens, Tokens]) -> None:
    here, _ = two_servers
    value, _ = await here.create("x", "local", ("read",), kind="session", parent="deadbeef")
    assert await here.find(value) is None


async def test_a_session_of_an_earlier_version_has_to_sign_in_again(
    two_servers: tuple[Tokens, Tokens],
) -> None:
    here, _ = two_servers
    named, _ = await here.create("laptop", "local", ("read",), kind="session")
    own, _ = await here.create("", "local", ("read",), kind="session")
    assert await here.find(named) is None
    assert await here.find(own)


async def test_a_person_of_an_issuer_has_sessions_without_a_stored_token(
    two_servers: tuple[Tokens, Tokens],
) -> None:
    here, there = two_servers
    value, _ = await here.create("ada", "local", ("read",), kind="session", parent="oidc-12ab")
    assert await there.find(value)
    assert await here.revoke("ada", "another space") == ()
    assert len(await here.revoke("ada", "local")) == 1


async def test_sessions_of_one_token_are_limited_and_those_of_others_stay(
    two_servers: tuple[Tokens, Tokens],
) -> None:
    here, _ = two_servers
    token, record = await here.create("laptop", "local", ("read",))
    other, _ = await here.create("phone", "local", ("read",))
    identities = Identities(here, "local")
    kept = await identities.exchange(other)
    newest = [await identities.exchange(token) for _ in range(MAX_SESSIONS + 3)][-1]
    sessions = [each for each in await here.records() if each.parent == record.id]
    assert len(sessions) == MAX_SESSIONS
    assert await here.find(kept)
    assert await here.find(newest)
