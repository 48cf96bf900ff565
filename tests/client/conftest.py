"""A server on loopback in this process, and a client that is signed in to it."""

from collections.abc import AsyncGenerator

import pytest

import sapwood
from sapwood.app.connection import Connection, connect
from sapwood.app.worker_wakes import WorkerWakes
from sapwood.testing import FakeModel
from tests.client.listening import ServerHere
from tests.server.conftest import served
from tests.server.serving import Served

__all__ = ["served"]


@pytest.fixture
async def connection() -> AsyncGenerator[Connection]:
    """A database in memory."""
    opened = await connect(":memory:", secrets=())
    yield opened
    await opened.close()


@pytest.fixture
async def server(served: Served, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ServerHere]:
    """The server, which can be stopped and started again on the same port."""
    models = served.spaces.get("local").agents.service.services.models
    assert models is not None

    def callable_(model: str) -> None:
        assert model

    monkeypatch.setattr(models, "require", callable_)
    here = ServerHere(served)
    await here.start()
    yield here
    await here.stop()


@pytest.fixture
async def db(server: ServerHere) -> AsyncGenerator[sapwood.Sapwood]:
    """A client with all scopes."""
    async with sapwood.open(server.address, token=server.token()) as opened:
        yield opened


@pytest.fixture
async def answering(served: Served) -> AsyncGenerator[None]:
    """Something that answers prompts in words, on the side of the server."""
    model = FakeModel(lambda request, heard: "Herons nest in trees.")
    opened = served.connection
    opened.wakes = WorkerWakes(opened.address, opened.log)
    local = sapwood.Sapwood(opened)
    async with sapwood.runtime(local, models=model):
        yield
