"""A server that listens on loopback in the event loop of a test."""

import asyncio
import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn

from sapwood.config.server_tokens import SCOPES, TokenScope
from sapwood_server.http_server import open_listener
from tests.server.serving import Served


class _Server(uvicorn.Server):
    """Says when it listens, and leaves signals to the test."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Captures none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to listen."""
        await super().startup(sockets)
        self.listens.set()


class ServerHere:
    """Runs the application of a test. It can be stopped and started again on the same port."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.port = 0
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def token(self, *scopes: TokenScope, name: str = "ada", space: str = "local") -> str:
        """A token with these scopes; all of them if none is named."""
        return self.served.tokens.create(name, space, scopes or SCOPES)[0]

    async def start(self) -> None:
        """Starts to listen."""
        listener = open_listener("127.0.0.1", self.port)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self.served.app, lifespan="off", log_config=None, timeout_graceful_shutdown=1
        )
        self._server = server = _Server(config)
        self._task = asyncio.ensure_future(server.serve(sockets=[listener]))
        await server.listens.wait()

    async def stop(self) -> None:
        """Stops listening. Streams are cut."""
        assert self._server is not None
        assert self._task is not None
        self._server.should_exit = self._server.force_exit = True
        await self._task
