"""A served database in this process: its application, a client, and principals with tokens."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import Config
from sapwood.config.server_tokens import FileTokens, TokenStore
from sapwood_server.access.identity import Identities
from sapwood_server.application import create_application
from sapwood_server.served_space import ServedSpaces
from tests.postgres_session import new_database
from tests.server.live_server import LiveServer, live_server
from tests.server.serving import Served

_numbers = itertools.count(1)


@pytest.fixture
def store() -> str:
    """The kind of database. A module asks for both: parametrize('store', STORES)."""
    return "sqlite"


@pytest.fixture
def postgres_database(postgres_dsn: str, postgres_template: str) -> Generator[str]:
    """The address of a database for one test; it is dropped afterwards."""
    with new_database(postgres_dsn, postgres_template) as address:
        yield address


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
