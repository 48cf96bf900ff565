"""The roles with few rights, made and removed again. They belong to the whole server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg

from sapwood.app.maintenance import grants

ROLES = "sapwood_worker, sapwood_eraser, sapwood_server, sapwood_reader"
_LOCK = 0x5A9_0005  # tests of other processes wait, for they use the same roles


@asynccontextmanager
async def granted_roles(server: str, database: str, *logins: str) -> AsyncGenerator[None]:
    """Makes the roles in a database, and logins: `name IN ROLE role`. Removes them afterwards."""
    gate: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(server)
    owner: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(database)
    names = ", ".join((*(each.split()[0] for each in logins), ROLES))
    try:
        await gate.execute(f"SELECT pg_advisory_lock({_LOCK})")
        await owner.execute(grants())
        for each in logins:
            name, _, rest = each.partition(" ")
            await owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'sapwood' {rest}")
        try:
            yield
        finally:
            await owner.execute(f"DROP OWNED BY {names}; DROP ROLE {names}")
    finally:
        await owner.close()
        await gate.close()


def login(database: str, name: str) -> str:
    """The address of a database for another login."""
    parts = urlsplit(database)
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{name}:sapwood@{place}").geturl()
