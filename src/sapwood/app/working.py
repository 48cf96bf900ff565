"""A worker: drives whichever agents of a space have work to do, for as long as it lives."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress

from msgspec import structs

from sapwood.app.assembling import assemble, engine_for, require_durable_engine
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.running import Running
from sapwood.engine import keep_awake

__all__ = ["working"]


@asynccontextmanager
async def working(
    connection: Connection,
    config: Config,
    keys: Mapping[str, str],
    *,
    at_once: int | None = None,
) -> AsyncGenerator[Running]:
    """Agents are run meanwhile, those with unfinished work first. Leaving hands them over."""
    require_durable_engine()
    config = config if at_once is None else structs.replace(config, workers=at_once)
    engine = engine_for(config, connection.outages)
    running = assemble(connection, config, keys, engine=engine)
    await running.start()
    waking = asyncio.create_task(keep_awake(connection.log, engine, [connection.space]))
    try:
        yield running
    finally:
        waking.cancel()
        with suppress(asyncio.CancelledError):
            await waking
        await running.close()
