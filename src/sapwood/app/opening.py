"""From the address of a database to a log that is open.

Each kind of store is imported only when it is asked for.
"""

from pathlib import Path

from sapwood.core.errors import LogError
from sapwood.runtime.log import Log

__all__ = ["open_log"]


async def open_log(address: str | Path) -> Log:
    """Opens `:memory:`, a path (an SQLite file, made if missing), or `postgresql://…`."""
    text = str(address)
    if text == ":memory:":
        from sapwood.store.memory import MemoryLog

        return MemoryLog()
    if text.startswith(("postgresql://", "postgres://")):
        from sapwood.store.postgres import PostgresLog

        return await PostgresLog.open(text)
    if "://" in text:
        scheme = text.partition("://")[0]
        raise LogError(
            f"There is no store for '{scheme}://'. "
            "Give a path for SQLite, postgresql://… or :memory:."
        )
    from sapwood.store.sqlite import SqliteLog

    return await SqliteLog.open(Path(text))
