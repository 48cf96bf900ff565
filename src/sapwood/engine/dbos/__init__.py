"""The durable engine, on DBOS Transact: any number of processes share the agents of a database.

DBOS keeps what is to be driven, hands it to whichever worker is free, and knows after a crash what
was under way. Ours are the *bells*, one row an agent that was woken and is not done yet, which
make a wake cheap, unique and impossible to miss; the workers' heartbeats, by which a dead one's
drives go on elsewhere; and the tidying up. Everything lives in an SQLite file beside the log, or
in the schema `sapwood_engine` of the log's PostgreSQL database.

It is an extra: `pip install 'sapwood[engine]'`.
"""

try:
    import dbos as _transact  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "Durable turns need a package that is not installed. Type: pip install 'sapwood[engine]'"
    ) from missing

from sapwood.engine.dbos.engine import DbosEngine
from sapwood.engine.dbos.pace import Pace

__all__ = ["DbosEngine", "Pace"]
