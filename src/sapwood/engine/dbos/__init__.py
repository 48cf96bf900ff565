"""The engine of workers, on DBOS Transact: any number of processes share the agents of a database.

Wake requests, one row for each agent that was woken and is not finished, make a wake cheap and
ensure that none is lost and that no agent is driven twice at once. A worker with a free place takes
those that nobody has claimed. DBOS records which drives run, and keeps the wakes that come later.
Heartbeats of the workers let the others take over the agents of a dead one. A regular cleanup
releases what got stuck and deletes what is finished. Everything is stored in an SQLite file beside
the log, or in the schema `sapwood_engine` of the log's PostgreSQL database.

It is an extra: `pip install 'sapwood[engine]'`.
"""

try:
    import dbos as _dbos  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "Durable turns need a package that is not installed. Type: pip install 'sapwood[engine]'"
    ) from missing

from sapwood.engine.dbos.durable_engine import DbosEngine
from sapwood.engine.limits import Intervals

__all__ = ["DbosEngine", "Intervals"]
