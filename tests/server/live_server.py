"""The server on a real socket, with a scripted model, for real clients of its protocols."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.config.config_file import Config
from sapwood.config.server_tokens import SCOPES, TokenScope, TokenStore
from sapwood_server.http_server import serve
from scripted_model import ScriptedModel
from tests.engine.eventually import eventually

MODEL = "claude-sonnet-5-5"


class LiveServer(Struct):
    """A server that listens: its address, its model, and tokens for clients."""

    address: str
    model: ScriptedModel
    connection: Connection
    stop: asyncio.Event

    def body(self, number: int = -1) -> dict[str, Any]:
        """The body of a request that reached the model, by default of the last."""
        return json.loads(json.dumps(self.model.requests[number].body))

    async def asked(self) -> None:
        """Returns when a request has reached the model."""
        await eventually(lambda: self.model.requests)

    def token(self, *scopes: TokenScope, space: str = "local", name: str = "ada") -> str:
        """A bearer token of these scopes; all of them if none is named."""
        return TokenStore().create(name, space, scopes or SCOPES)[0]


@asynccontextmanager
async def live_server(connection: Connection) -> AsyncGenerator[LiveServer]:
    """Serves the database. The home of the process must be one of the test."""
    with ScriptedModel(retry_after=0.01) as model:
        config = Config(
            database=connection.address,
            model=MODEL,
            base_urls={"anthropic": model.anthropic_url},
            engine="local",
        )
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()

        async def stopped() -> None:
            await stop.wait()

        serving = asyncio.ensure_future(
            serve(
                connection,
                config,
                {"anthropic": "sk-ant-scripted-0123456789"},
                host="127.0.0.1",
                port=0,
                on_ready=lambda address, _: ready.set_result(address),
                stopped=stopped,
            )
        )
        try:
            await asyncio.wait({serving, ready}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            yield LiveServer(ready.result(), model, connection, stop)
        finally:
            stop.set()
            await serving
