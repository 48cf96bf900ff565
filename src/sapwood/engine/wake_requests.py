"""Wake requests: one row for each agent that was woken and is not finished.

The first wake of an agent inserts the row; further wakes only raise its count. A process claims the
row before it drives the agent, and deletes it at the end, unless the count rose meanwhile: then it
drives the agent once more. Because the row decides all of this, no wake is lost, wakes do not pile
up, and no two processes drive one agent, whichever engines they have. Rows that no process has
claimed are the queue.

Here are the tables and the SQL, for any library: parameters are written `:name`. The table is named
`bells` and its count `rings`, because processes of other versions may share the database.

Which of the waiting agents a worker takes: spaces take turns, however many agents one has.

The spaces that wait form a line. A worker with a free place takes an agent of the space at the
head, which then goes to the end. So an agent that is the only one of its space waits for at most
one agent of each other space.
"""

import asyncio
import time
import uuid
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sapwood.core.ids import AgentId, Space
from sapwood.engine.limits import DriveLimits

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

TABLES_OF_DBOS = ("operation_outputs", "workflow_input", "workflow_output", "workflow_status")
"""Tables in which earlier versions stored what they drove. Nothing reads them any more."""


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


_DIED = "+"
_MAX_KEPT = 100


def new_drive_id(before: str = "") -> str:
    """A unique id for a drive. Ids are in the order in which they were made.

    It ends with the processes that died in the drives `before` this one, each after a `+`.
    """
    dead = "".join(f"{_DIED}{each}" for each in died_in(before)[-_MAX_KEPT:])
    return f"{time.time_ns():016x}{uuid.uuid4().hex[:16]}{dead}"


def died_in(drive: str) -> list[str]:
    """The processes that others took for dead while they drove this agent, the first one first.

    >>> died_in(new_drive_id()), died_in(new_drive_id("0a+first+second"))
    ([], ['first', 'second'])
    """
    return drive.split(_DIED)[1:]


def drive_age(drive: str) -> float:
    """Seconds since the id of a drive was made.

    >>> drive_age(new_drive_id()) < 60
    True
    """
    return max(0.0, time.time() - int(drive[:16], 16) / 1_000_000_000)


class _Statement:
    """A statement of `WakeSql`, in which `{bells}` and the like stand for what differs."""

    def __init__(self, template: str) -> None:
        self._template = template

    def __get__(self, sql: "WakeSql", kind: type["WakeSql"]) -> str:
        return self._template.format_map(sql.words)


_THIS = "space = :space AND agent = :agent"
_NEW = (
    "INSERT INTO {bells} AS bell (space, agent, drive, model, account, rings, worker, holder)"
    " VALUES (:space, :agent, :drive, :model, :user, 1,"
)
_AGAIN = "ON CONFLICT (space, agent) DO UPDATE SET rings = bell.rings + 1"
_HERE = "CASE WHEN {new_arrives} THEN NULL ELSE"
_RUNNING = "SELECT count(*) FROM {bells} AS other WHERE other.holder IS NOT NULL AND other."
_ENDED = f"WHERE {_THIS} AND holder = :holder AND rings = :rings RETURNING 1"
_FREE = "worker = NULL, holder = NULL"


def _full(key: str) -> str:
    """Those with this key of which as many run as the limit that follows."""
    return f"SELECT {key} FROM {{bells}} WHERE holder IS NOT NULL GROUP BY {key} HAVING count(*)"


class WakeSql:
    """The statements on wake requests and workers, one SQL verb each.

    With `has_moves` the log beside these tables knows which spaces are being copied to this
    database. Nobody claims a request of those, because another database decides when they are here.
    """

    def __init__(self, prefix: str, *, has_moves: bool = False) -> None:
        arrives = (
            "EXISTS (SELECT FROM sapwood.moves WHERE moves.space = {} AND moves.state = 'arriving')"
            if has_moves
            else "FALSE"
        )
        self.words = {
            "bells": f"{prefix}bells",
            "workers": f"{prefix}workers",
            "new_arrives": arrives.format(":space"),
            "arrives": arrives.format("bell.space"),
        }

    wake = _Statement(f"{_NEW} NULL, NULL) {_AGAIN}")
    """Inserts a request for any process, or counts one more wake."""

    wake_here = _Statement(
        f"{_NEW} {_HERE} :worker END, {_HERE} :holder END) {_AGAIN} RETURNING holder"
    )
    """Inserts a request that is claimed already if it can be, or counts one more wake."""

    claim_waiting = _Statement(
        "UPDATE {bells} AS bell SET drive = :new, worker = :worker, holder = :holder"
        f" WHERE {_THIS} AND drive = :drive AND worker IS NULL AND NOT {{arrives}}"
        f" AND (:per_space = 0 OR ({_RUNNING}space = bell.space) < :per_space)"
        f" AND (:per_model = 0 OR ({_RUNNING}model = bell.model) < :per_model)"
        f" AND (:per_user = 0 OR ({_RUNNING}account = bell.account"
        " AND other.space = bell.space) < :per_user)"
        " RETURNING rings"
    )
    """Claims a request that waits, with a new drive, unless a limit is reached."""

    delete = _Statement(f"DELETE FROM {{bells}} {_ENDED}")

    rest = _Statement(f"UPDATE {{bells}} SET holder = NULL {_ENDED}")
    """Ends a drive, and leaves the request with its worker, who wakes the agent later."""

    resume = _Statement(
        f"UPDATE {{bells}} SET holder = :holder WHERE {_THIS} AND drive = :drive"
        " AND worker = :worker AND holder IS NULL RETURNING rings"
    )
    """Begins the next drive of a request that rests with its worker."""

    count = _Statement(f"SELECT rings FROM {{bells}} WHERE {_THIS} AND holder = :holder")
    release = _Statement(f"UPDATE {{bells}} SET {_FREE} WHERE {_THIS} AND drive = :drive")
    release_all = _Statement(f"UPDATE {{bells}} SET {_FREE} WHERE worker = :worker")

    release_orphans = _Statement(
        f"UPDATE {{bells}} SET {_FREE},"
        f" drive = CASE WHEN holder IS NULL THEN drive ELSE drive || '{_DIED}' || worker END"
        " WHERE worker IS NOT NULL AND worker NOT IN (SELECT worker FROM {workers})"
    )
    """Releases the requests of workers that are not in the list any more, and notes it."""

    claimed = _Statement(
        "SELECT space, agent, drive, model, account, holder, rings"
        " FROM {bells} WHERE worker = :worker"
    )

    waiting = _Statement(
        "SELECT space, agent, drive, model, account FROM"
        " (SELECT space, agent, drive, model, account, row_number()"
        " OVER (PARTITION BY space ORDER BY drive) AS place FROM {bells} AS bell"
        " WHERE worker IS NULL AND NOT {arrives}"
        f" AND (:per_space = 0 OR space NOT IN ({_full('space')} >= :per_space))"
        f" AND (:per_model = 0 OR model NOT IN ({_full('model')} >= :per_model))"
        " AND (:per_user = 0 OR (space, account) NOT IN"
        f" ({_full('space, account')} >= :per_user))"
        ") AS line WHERE place <= :most ORDER BY place, drive"
    )
    """The first requests of each space that wait, without those whose limit is reached."""

    erase = _Statement(f"DELETE FROM {{bells}} WHERE {_THIS}")
    add_worker = _Statement(
        "INSERT INTO {workers} (worker, beats) VALUES (:worker, 0) ON CONFLICT DO NOTHING"
    )
    beat = _Statement(
        "UPDATE {workers} SET beats = beats + 1 WHERE worker = :worker RETURNING beats"
    )
    workers = _Statement("SELECT worker, beats FROM {workers}")
    remove_worker = _Statement("DELETE FROM {workers} WHERE worker = :worker")
    remove_dead = _Statement(
        "DELETE FROM {workers} WHERE worker = :worker AND beats = :beats RETURNING 1"
    )


class SpaceRoundRobin:
    """The line of the spaces that wait.

    >>> from sapwood.core.ids import AgentId
    >>> spaces = ("flood", "flood", "flood", "ada")
    >>> waiting = [WakeRequest(Space(each), AgentId("a"), "") for each in spaces]
    >>> turns = SpaceRoundRobin(DriveLimits(per_worker=2))
    >>> [each.space for each in turns.next(waiting, Counter())]
    ['flood', 'ada']
    """

    def __init__(self, limits: DriveLimits, serves: Callable[[Space], bool] | None = None) -> None:
        """`limits` says how many agents run here, and how many of one space."""
        self._places = limits.per_worker
        self._share = min(limits.share or limits.per_worker, limits.per_worker)
        self._may_be_refused = limits.counts_keys
        self._serves = serves
        self._line: dict[Space, None] = {}

    async def take(
        self,
        waiting: Iterable[WakeRequest],
        running: Counter[Space],
        claim: Callable[[WakeRequest], Awaitable[bool]],
    ) -> int:
        """Claims the requests to drive now, while there are places; returns how many.

        `running` is what runs here. With limits that count by key, requests are claimed one after
        the other, because a claim may be refused.
        """
        taken = 0
        chosen = self.next(waiting, running)
        if not self._may_be_refused:
            return sum(await asyncio.gather(*map(claim, chosen)))
        with suppress(StopIteration):
            request = next(chosen)
            while True:
                was_taken = await claim(request)
                taken += was_taken
                request = chosen.send(was_taken)
        return taken

    def next(
        self, waiting: Iterable[WakeRequest], running: Counter[Space]
    ) -> Generator[WakeRequest, bool | None]:
        """Yields the requests to claim now.

        Send False for a request that could not be claimed: it costs no place and no turn.
        """
        running, left = running.copy(), self._by_space(waiting)
        while running.total() < self._places:
            ready = (each for each in self._line if left[each] and running[each] < self._share)
            space = next(ready, None)
            if space is None:
                return
            taken = yield left[space].popleft()
            if taken is not False:
                running[space] += 1
                self._line[space] = self._line.pop(space)  # to the end

    def _by_space(self, waiting: Iterable[WakeRequest]) -> dict[Space, deque[WakeRequest]]:
        """The requests of each space that is served. A space that did not wait before is last."""
        found: dict[Space, deque[WakeRequest]] = {}
        for each in waiting:
            if self._serves is None or self._serves(each.space):
                found.setdefault(each.space, deque()).append(each)
        kept = {space: None for space in self._line if space in found}
        self._line = {**kept, **dict.fromkeys(found)}
        return found
