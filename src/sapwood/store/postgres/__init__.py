"""The log in a PostgreSQL database: for teams and hosted products, many workers at once.

The driver is an extra: `pip install 'sapwood[postgres]'`. It needs PostgreSQL 14 or newer, and
behind PgBouncer a pool in session mode, because sessions listen and keep prepared statements.
"""

try:
    import asyncpg as _driver  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "PostgreSQL needs a driver that is not installed. Type: pip install 'sapwood[postgres]'"
    ) from missing

from sapwood.store.postgres.log import PostgresLog

__all__ = ["PostgresLog"]
