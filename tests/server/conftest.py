"""A served database in this process: its application, a client, and principals with tokens."""

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import Config
from sapwood.config.server_tokens import FileTokens, TokenStore
from sapwood_server.access.identity import Identities
from sapwood_server.application import create_application
from sapwood_server.served_space import ServedSpaces
from tests.server.live_server import LiveServer, live_server
from tests.server.serving import Served

_numbers = itertools.count(1)


@pytest.fixture
def store() -> str:
    """The kind of database. A module asks for both: parametrize('store', STORES)."""
    return "sqlite"


async def _on_server(dsn: str, statement: str) -> None:
    import asyncpg

    session = await asyncpg.connect(dsn)
    try:
        await session.execute(statement)
    finally:
        await session.close()


@pytest.fixture(scope="session")
def postgres_template(postgres_dsn: str) -> Generator[str]:
    """The name of a database with empty tables, from which others are made in a moment."""
    from sapwood.store.postgres import PostgresLog

    async def make_tables() -> None:
        address = urlsplit(postgres_dsn)._replace(path=f"/{name}").geturl()
        await (await PostgresLog.open(address)).close()

    name = f"sapwood_server_{os.getpid()}_template"
    asyncio.run(_on_server(postgres_dsn, f"CREATE DATABASE {name}"))
    asyncio.run(make_tables())
    yield name
    asyncio.run(_on_server(postgres_dsn, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
async def postgres_database(postgres_dsn: str, postgres_template: str) -> AsyncGenerator[str]:
    """The address of a database for one test; it is dropped afterwards."""
    name = f"sapwood_server_{os.getpid()}_{next(_numbers)}"
    await _on_server(postgres_dsn, f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    yield urlsplit(postgres_dsn)._replace(path=f"/{name}").geturl()
    await _on_server(postgres_dsn, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The address of a database of its own, of the kind `store`."""
    if store == "postgres":
        return request.getfixturevalue("postgres_database")
    return str(tmp_path / "sapwood.db")


@pytest.fixture
async def connection(database: str) -> AsyncGenerator[Connection]:
    """A connection to the database."""
    opened = await connect(database, secrets=())
    yield opened
    await opened.close()


@pytest.fixture
async def served(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Served]:
    """The application over the database, and who may use it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    config = Config(database=connection.address)
    spaces = ServedSpaces(connection, config, {}, drives=False, own=True)
    tokens = TokenStore(tmp_path / "tokens.json")
    identities = Identities(FileTokens(tokens), config.space)
    app = create_application(spaces, identities, ("127.0.0.1", "localhost"))
    yield Served(app, spaces, tokens, identities, connection)
    await spaces.close()


@pytest.fixture
async def live(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[LiveServer]:
    """A server on a real socket, with a scripted model and a home of its own."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)
    async with asyncio.timeout(120), live_server(connection) as server:
        yield server
