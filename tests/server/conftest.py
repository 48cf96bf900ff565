"""A served database in this process: its application, a client, and principals with tokens."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the server is not installed (extra: serve)")

from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import Config
from sapwood.config.server_tokens import TokenStore
from sapwood.server.application import create_application
from sapwood.server.identity import Identities
from sapwood.server.served_space import ServedSpaces
from tests.server.serving import Served


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncGenerator[Connection]:
    """A database in a file of its own."""
    opened = await connect(tmp_path / "sapwood.db", secrets=())
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
    spaces = ServedSpaces(connection, config, {}, drives=False)
    tokens = TokenStore(tmp_path / "tokens.json")
    identities = Identities(tokens, config.space)
    app = create_application(spaces, identities, ("127.0.0.1", "localhost"))
    yield Served(app, spaces, tokens, identities, connection)
    await spaces.close()
