"""The log in an SQLite file: it needs no server and no extra package.

sqlite_log.py       the `Log` that the runtime uses
writer.py           one thread that stores many commits in one transaction; a single commit
                    is stored on the event loop, where the disk is fast
commit_watcher.py   wakes followers after commits of this process and of others
fulltext.py         the word index: its statements, and the task that fills it
commit_rows.py  event_table.py  agent_table.py      SQL statements, one a function
key_table.py        the keys of encrypted spaces
schema.py  migrations/      the tables
connections.py      opening the file, and the threads that read it
database_errors.py  SQLite's errors in words for users
"""

from sapwood.store.sqlite.sqlite_log import SqliteLog

__all__ = ["SqliteLog"]
