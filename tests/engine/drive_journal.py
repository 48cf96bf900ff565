"""A journal in which several processes record their drives; it notices two drives of one agent.

It takes the place of the log: `want` gives an agent work, and a drive ends by doing all work that
was wanted when it started.
"""

import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

_TABLES = """
CREATE TABLE IF NOT EXISTS work (
    agent TEXT PRIMARY KEY, wanted INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS drives (
    number INTEGER PRIMARY KEY, worker TEXT, agent TEXT, began REAL, ended REAL, how TEXT);
CREATE TABLE IF NOT EXISTS clashes (worker TEXT, agent TEXT);
CREATE TABLE IF NOT EXISTS notes (note TEXT PRIMARY KEY);
"""


@dataclass(frozen=True)
class RecordedDrive:
    """One drive. `how` is empty until the drive has ended."""

    number: int
    worker: str
    agent: str
    began: float
    how: str


class DriveJournal:
    """A file that any process can open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_TABLES)
        self._connection = self._connect()

    def want(self, agent: str) -> None:
        """Gives an agent work to do."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO work (agent, wanted) VALUES (?, 1)"
                " ON CONFLICT (agent) DO UPDATE SET wanted = wanted + 1",
                (agent,),
            )

    def begin(self, worker: str, agent: str) -> int:
        """A drive begins; a clash is noted if another of this agent has not ended."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO clashes SELECT worker, agent FROM drives"
                " WHERE agent = ? AND ended IS NULL",
                (agent,),
            )
            row = connection.execute(
                "INSERT INTO drives (worker, agent, began) VALUES (?, ?, ?) RETURNING number",
                (worker, agent, time.time()),
            ).fetchone()
        return row[0]

    def wanted(self, agent: str) -> int:
        """How much work the agent was given so far."""
        row = self._one("SELECT wanted FROM work WHERE agent = ?", agent)
        return row[0] if row else 0

    def end(self, number: int, agent: str, done: int, how: str = "done") -> None:
        """A drive ends, and has done all work up to a number."""
        with self._writing() as connection:
            connection.execute("UPDATE work SET done = max(done, ?) WHERE agent = ?", (done, agent))
            connection.execute(
                "UPDATE drives SET ended = ?, how = ? WHERE number = ?", (time.time(), how, number)
            )

    def record_death(self, worker: str) -> None:
        """A worker is dead or stopped: what it drove has ended as far as clashes go."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE drives SET ended = ?, how = 'worker died'"
                " WHERE worker = ? AND ended IS NULL",
                (time.time(), worker),
            )

    def note(self, note: str) -> None:
        """Something that others wait for has happened."""
        with self._writing() as connection:
            connection.execute("INSERT OR IGNORE INTO notes VALUES (?)", (note,))

    def noted(self, note: str) -> bool:
        """Has it?"""
        return self._one("SELECT 1 FROM notes WHERE note = ?", note) is not None

    def drives(self, agent: str | None = None, worker: str | None = None) -> list[RecordedDrive]:
        """All drives so far, of an agent or a worker if one is named."""
        rows = self._connection.execute(
            "SELECT number, worker, agent, began, coalesce(how, '') FROM drives"
            " WHERE agent = coalesce(?, agent) AND worker = coalesce(?, worker) ORDER BY number",
            (agent, worker),
        )
        return [RecordedDrive(*row) for row in rows.fetchall()]

    def undone(self) -> list[str]:
        """The agents that have work left."""
        rows = self._connection.execute("SELECT agent FROM work WHERE done < wanted")
        return [agent for (agent,) in rows.fetchall()]

    def clashes(self) -> list[tuple[str, str]]:
        """Every time that two drives of one agent were under way at once."""
        return self._connection.execute("SELECT worker, agent FROM clashes").fetchall()

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30, isolation_level=None)

    def _one(self, query: str, value: str) -> tuple[int] | None:
        return self._connection.execute(query, (value,)).fetchone()

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
