"""Wake requests: one row for each agent that was woken and is not finished.

The first wake of an agent inserts the row; further wakes only raise its count. A process claims the
row before it drives the agent, and deletes it at the end, unless the count rose meanwhile: then it
drives the agent once more. Because the row decides all of this, no wake is lost, wakes do not pile
up, and no two processes drive one agent, whichever engines they have. Rows that no process has
claimed are the queue.

Here are the tables and the SQL, for any library: parameters are written `:name`. The table is named
`bells` and its count `rings`, because processes of other versions may share the database.
"""

import time
import uuid
from pathlib import Path

from msgspec import Struct

from sapwood.core.ids import AgentId, Space

SCHEMA = "sapwood_engine"
"""The schema of the engine's tables in PostgreSQL."""

SQLITE_SETTINGS = (
    "PRAGMA busy_timeout = 30000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # what is lost in a power cut is found in the log
)

TABLES = {
    "bells": """CREATE TABLE IF NOT EXISTS {prefix}bells (
        space TEXT NOT NULL,
        agent TEXT NOT NULL,
        drive TEXT NOT NULL,
        model TEXT NOT NULL,
        account TEXT NOT NULL,
        rings BIGINT NOT NULL,
        worker TEXT,
        holder TEXT,
        PRIMARY KEY (space, agent))""",
    "workers": """CREATE TABLE IF NOT EXISTS {prefix}workers (
        worker TEXT PRIMARY KEY,
        beats BIGINT NOT NULL)""",
}


def engine_file(address: str | Path) -> Path | None:
    """The engine's SQLite file beside the log at this address; None for PostgreSQL and memory."""
    text = str(address)
    if text == ":memory:" or "://" in text:
        return None
    log = Path(text).expanduser().resolve()  # all processes find the same one
    return log.with_name(f"{log.stem}.engine{log.suffix}")


class WakeRequest(Struct, frozen=True):
    """An agent that was woken, the id of its drive, and the model and user that limits count."""

    space: Space
    agent: AgentId
    drive: str
    model: str = ""
    user: str = ""


def new_drive_id() -> str:
    """A unique id for a drive. Ids are in the order in which they were made."""
    return f"{time.time_ns():016x}{uuid.uuid4().hex[:16]}"


class WakeSql:
    """The statements on wake requests and workers, one SQL verb each."""

    def __init__(self, prefix: str) -> None:
        bells, workers = f"{prefix}bells", f"{prefix}workers"
        this = "space = :space AND agent = :agent"
        new = (
            f"INSERT INTO {bells} AS bell"
            " (space, agent, drive, model, account, rings, worker, holder)"
        )
        self.wake = (
            f"{new} VALUES (:space, :agent, :drive, :model, :user, 1, NULL, NULL)"
            " ON CONFLICT (space, agent) DO UPDATE SET rings = bell.rings + 1"
        )
        """Inserts a request for any process, or counts one more wake."""
        self.wake_here = (
            f"{new} VALUES (:space, :agent, :drive, :model, :user, 1, :worker, :holder)"
            " ON CONFLICT (space, agent) DO UPDATE SET rings = bell.rings + 1 RETURNING drive"
        )
        """Inserts a request that is claimed already, or counts one more wake."""
        running = f"SELECT count(*) FROM {bells} AS other WHERE other.worker IS NOT NULL AND other."
        self.claim_waiting = (
            f"UPDATE {bells} AS bell SET drive = :new, worker = :worker, holder = :holder"
            f" WHERE {this} AND drive = :drive AND worker IS NULL"
            f" AND (:per_space = 0 OR ({running}space = bell.space) < :per_space)"
            f" AND (:per_model = 0 OR ({running}model = bell.model) < :per_model)"
            f" AND (:per_user = 0 OR ({running}account = bell.account"
            " AND other.space = bell.space) < :per_user)"
            " RETURNING rings"
        )
        """Claims a request that waits, with a new drive, unless a limit is reached."""
        self.claim = (
            f"UPDATE {bells} SET worker = :worker, holder = :holder"
            f" WHERE {this} AND drive = :drive RETURNING rings"
        )
        self.delete = (
            f"DELETE FROM {bells} WHERE {this} AND holder = :holder AND rings = :rings RETURNING 1"
        )
        self.count = f"SELECT rings FROM {bells} WHERE {this} AND holder = :holder"
        self.release = (
            f"UPDATE {bells} SET worker = NULL, holder = NULL WHERE {this} AND drive = :drive"
        )
        self.release_all = f"UPDATE {bells} SET worker = NULL, holder = NULL WHERE worker = :worker"
        self.release_orphans = (
            f"UPDATE {bells} SET worker = NULL, holder = NULL"
            f" WHERE worker IS NOT NULL AND worker NOT IN (SELECT worker FROM {workers})"
        )
        """Releases the requests of workers that are not in the list any more."""
        self.claimed = (
            "SELECT space, agent, drive, model, account, holder, rings"
            f" FROM {bells} WHERE worker = :worker"
        )
        full = (
            f"SELECT {{key}} FROM {bells} WHERE worker IS NOT NULL GROUP BY {{key}} HAVING count(*)"
        )
        self.waiting = (
            "SELECT space, agent, drive, model, account FROM"
            " (SELECT space, agent, drive, model, account, row_number()"
            f" OVER (PARTITION BY space ORDER BY drive) AS place FROM {bells} WHERE worker IS NULL"
            f" AND (:per_space = 0 OR space NOT IN ({full.format(key='space')} >= :per_space))"
            f" AND (:per_model = 0 OR model NOT IN ({full.format(key='model')} >= :per_model))"
            " AND (:per_user = 0 OR (space, account) NOT IN"
            f" ({full.format(key='space, account')} >= :per_user))"
            ") AS line WHERE place <= :most ORDER BY place, drive"
        )
        """The first requests of each space that wait, without those whose limit is reached."""
        self.erase = f"DELETE FROM {bells} WHERE {this}"
        self.add_worker = (
            f"INSERT INTO {workers} (worker, beats) VALUES (:worker, 0) ON CONFLICT DO NOTHING"
        )
        self.beat = f"UPDATE {workers} SET beats = beats + 1 WHERE worker = :worker RETURNING beats"
        self.workers = f"SELECT worker, beats FROM {workers}"
        self.remove_worker = f"DELETE FROM {workers} WHERE worker = :worker"
        self.remove_dead = (
            f"DELETE FROM {workers} WHERE worker = :worker AND beats = :beats RETURNING 1"
        )
