"""The log in a PostgreSQL database: for teams and hosted products with many workers.

The driver is an extra: `pip install 'sapwood[postgres]'`. The log needs PostgreSQL 14 or newer.
An address with the option `direct` goes through PgBouncer, which may pool transactions.

postgres_log.py     the `Log` that the runtime uses
group_commit.py     stores many waiting commits in one transaction
commit_queue.py     the waiting commits, ordered by agent and command
appender.py         the statements that append
commit_notifier.py  NOTIFY and LISTEN after commits
live_events.py      `follow` and `tail`
settled.py          how far the order of events is settled
fulltext.py         the search index and the search
event_table.py  agent_table.py      SQL statements, one a function
token_table.py      tokens and counts that all servers share
key_table.py        the keys of encrypted spaces
move_table.py  space_move.py  space_copy.py   where a space is; moving it to another database
connections.py  database_errors.py  connections, retries, and errors in words for users
schema.py  migrations/      the tables, the order of transactions, and logins for one space
"""

try:
    import asyncpg as _driver  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "PostgreSQL needs a driver that is not installed. Type: pip install 'sapwood[postgres]'"
    ) from missing

from sapwood.store.postgres.postgres_log import PostgresLog

__all__ = ["PostgresLog"]
