"""The cell under test: a database, a way to it for each process, workers and tenants."""

import asyncio
import os
import random
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from msgspec import Struct

from proofs.service.load import Tenants
from proofs.service.proxy import Proxy
from proofs.service.workers import Workers
from sapwood import Sapwood, open
from tools.pgbouncer import pooler
from tools.postgres import Cluster


class CellOptions(Struct, frozen=True):
    """What a cell is made of: `volume` is the file system of its database, if that has its own.

    A fault lasts so many `seconds`. `older` is the revision of which a deploy begins. With `pooled`
    each process goes through a PgBouncer of its own, which stands before its way.
    """

    folder: Path
    workers: int
    seconds: float
    older: str
    volume: Path | None
    chance: random.Random
    pooled: bool = False

    @property
    def clock(self) -> Path:
        """The file from which workers with a false clock read how false it is."""
        return self.folder / "clock"


class Cell:
    """Everything that a fault can reach."""

    def __init__(
        self,
        options: CellOptions,
        server: Cluster,
        ways: list[Proxy],
        workers: Workers,
        db: Sapwood,
        until_closed: AsyncExitStack,
    ) -> None:
        self.options = options
        self.server = server
        self.standby: Cluster | None = None
        self.ways = ways
        """The network to the database: one for each worker, and the last one for the tenants."""
        self.workers = workers
        self.db = db
        self.tenants = Tenants(db, options.chance)
        self.until_closed = until_closed
        self.outages: list[tuple[float, float]] = []
        """When nobody could be answered, from one moment until another."""
        self.notes: list[str] = []
        """What a fault has to report."""
        self.failures: list[str] = []
        """What a fault found that must not be."""

    async def lasts(self, share: float = 1.0) -> None:
        """Waits while the fault lasts, or a share of that."""
        await asyncio.sleep(self.options.seconds * share)


@asynccontextmanager
async def opened_cell(server: Cluster, options: CellOptions) -> AsyncGenerator[Cell]:
    """A cell with this database. Its workers are not started yet."""
    async with AsyncExitStack() as stack:
        ways = [Proxy(server.dsn, options.chance) for _ in range(options.workers + 1)]
        for way in ways:
            await way.open()
            stack.push_async_callback(way.close)
        addresses = [
            stack.enter_context(pooler(way.dsn)) if options.pooled else way.dsn for way in ways
        ]
        os.environ["SAPWOOD_DATABASE"] = addresses[-1]  # this process wakes the workers
        workers = Workers(
            os.environ,
            options.folder,
            options.workers,
            options.chance,
            addresses.__getitem__,
        )
        stack.push_async_callback(workers.stop)
        db = await stack.enter_async_context(open(addresses[-1]))
        yield Cell(options, server, ways, workers, db, stack)
