"""The log in an SQLite file: nothing to install, nothing to run, as durable as its disk.

log.py          what the runtime sees
writer.py       one thread, one transaction for many commits
postbox.py      how that thread tells the event loop
readers.py      a few threads that only read
watch.py        who waits for news, of this process and of others
commits.py  events.py  agents.py  snapshots.py  words.py      SQL, one verb a function
indexing.py     fills the word index behind the writer's back
schema.py  migrations/      the tables
connection.py  errors.py    files, and what can be wrong with them
"""

from sapwood.store.sqlite.log import SqliteLog

__all__ = ["SqliteLog"]
