"""Moves a space to another database: copies it while it is used, stops it, and hands it over.

Each step is one transaction on one side, and the tables of moves of both databases say how far a
move is. Any process can continue from there. The space changes its owner in one statement, at the
database that it leaves; see the migration for the states.
"""

import asyncio
import hashlib
import uuid
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

import asyncpg
from msgspec import Struct

from sapwood.core.errors import LogError
from sapwood.core.ids import AgentId, Space
from sapwood.store.postgres.connections import (
    DRIVER_ERRORS,
    INDEX_LOCK,
    Server,
    log_error,
    terminated_on_error,
)
from sapwood.store.postgres.move_table import MOVER_LOCK
from sapwood.store.postgres.space_comparison import PATIENCE, CopyDiffers
from sapwood.store.postgres.space_copy import SpaceCopy

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection, Row

STOP_SECONDS = 1.5
"""How long nobody may change the space before the decision; then it continues where it was."""
_STOPS = 8
PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds between stops; what kept the databases busy may be over then."""
_AGENTS = 200
_LOCK_CLASS = 1398106214
_LOCK = f"SELECT pg_advisory_xact_lock({_LOCK_CLASS}, hashtext($1))"
_LEFT = (
    *("events", "contents", "receipts", "snapshots", "search", "searchable", "meanings"),
    *("cursor_places", "live_words", "gaps", "holds", "erasures", "space_keys"),
)
"""Tables of which the rows of a space go, after those of its agents.

Tokens stay at the place before: who has one learns from the server there that the space has moved.
"""

_PEER = "SELECT current_database() || ' ' || coalesce(inet_server_port()::text, '')"
_SERVER = "SELECT system_identifier::text FROM pg_control_system()"
_STATE = "SELECT id, state, cell, peer, tx, position FROM sapwood.moves WHERE space = $1"


class MoveReport(Struct, frozen=True):
    """What a move did: how much was copied by this process, and how long the space was stopped."""

    space: Space
    agents: int = 0
    events: int = 0
    pause: float = 0.0
    stops: int = 0
    outcome: str = "moved"


class _Expired(Exception):
    """The space was stopped for too long, and continues where it was."""


def _no_step(_: str) -> None: ...


class SpaceMove:
    """One move of a space between two databases. The logins must own the tables.

    `on_step` is called with the name of each step before it begins.
    """

    def __init__(
        self,
        space: Space,
        source: "Connection",
        target: "Connection",
        cell: str = "",
        on_step: Callable[[str], None] = _no_step,
    ) -> None:
        self._space = space
        self._source = source
        self._target = target
        self._cell = cell
        self._on_step = on_step
        self._copy = SpaceCopy(space, source, target, on_step)

    async def run(self) -> MoveReport:
        """Moves the space, or continues a move that was interrupted. Raises `LogError`."""
        await self._require_alone()
        if await self._begin() == "moved":
            return MoveReport(self._space, outcome="finished")
        await self._copy.while_used()
        for stop in range(1, _STOPS + 1):
            try:
                pause = await self._hand_over()
            except _Expired:
                await asyncio.sleep(PAUSES[min(stop, len(PAUSES)) - 1])
                await self._copy.while_used()
                continue
            return MoveReport(self._space, self._copy.agents, self._copy.events, pause, stop)
        raise LogError(
            f"The space '{self._space}' could not be copied within two seconds after "
            f"it was stopped, {_STOPS} times. It stays where it was, and the copy is kept. Try "
            "again when the databases are less busy, or abandon the move: --take-back"
        )

    async def stays(self) -> bool:
        """Whether both sides are one database, and it has the space. Raises `LogError` if not."""
        if not await self._is_same():
            return False
        if not await self.agents():
            raise LogError(f"This database has no space '{self._space}'. Nothing was changed.")
        return True

    async def take_back(self) -> MoveReport:
        """Gives up a move that has not been decided: the space stays where it was."""
        await self._require_alone()
        here, there = await self._state(self._source), await self._state(self._target)
        if here is None or here["state"] not in ("leaving", "stopped"):
            raise LogError(
                f"The space '{self._space}' is not being moved from this database. Nothing was "
                "changed."
            )
        if there is not None and there["id"] == here["id"] and there["state"] == "arriving":
            self._copy.move = there["id"]
            await self._delete(self._target)
            await self._forget_arriving()
        await self._source.execute(
            "DELETE FROM sapwood.moves WHERE space = $1 AND id = $2 AND state <> 'moved'",
            *(self._space, here["id"]),
        )
        return MoveReport(self._space, outcome="taken back")

    async def clear_source(self) -> None:
        """Deletes what the database before still has of the space."""
        self._on_step("clear")
        await self._delete(self._source)

    async def agents(self) -> list[AgentId]:
        """The agents that are still in the tables of the database before."""
        query = "SELECT agent FROM sapwood.agents WHERE space = $1"
        return [AgentId(row["agent"]) for row in await self._source.fetch(query, self._space)]

    async def _require_alone(self) -> None:
        """No other process moves the space, and the two databases are not the same one."""
        if await self._is_same():
            raise LogError(
                f"The space '{self._space}' is in this database already. Nothing was changed."
            )
        for side in (self._source, self._target):
            if not await side.fetchval(MOVER_LOCK, self._space):
                raise LogError(
                    f"Another process is moving the space '{self._space}'. Nothing was changed. "
                    "Wait for it, or stop it."
                )

    async def _is_same(self) -> bool:
        key = uuid.uuid4().int >> 66
        await self._source.execute("SELECT pg_advisory_lock($1)", key)
        same = not await self._target.fetchval("SELECT pg_try_advisory_lock($1)", key)
        await self._source.execute("SELECT pg_advisory_unlock($1)", key)
        return same

    async def _begin(self) -> str:
        """Enters the move on both sides. Returns the state at the database that it leaves."""
        space = self._space
        self._on_step("begin")
        peer = await self._peer()
        here, there = await self._state(self._source), await self._state(self._target)
        if here is not None and here["state"] == "arriving":
            raise LogError(
                f"The space '{space}' is being moved to this database. Nothing was changed. Finish "
                "that move first, from the database that it comes from."
            )
        if here is not None and here["peer"] != peer:
            verb = "was" if here["state"] == "moved" else "is being"
            raise LogError(
                f"The space '{space}' {verb} moved to another database. Nothing was changed. Name "
                "that one with --to."
            )
        if here is not None and here["state"] == "moved":
            self._copy.move = here["id"]
            if self._cell:  # it may have been misspelt
                await self._source.execute(
                    "UPDATE sapwood.moves SET cell = $3 WHERE space = $1 AND id = $2",
                    *(space, here["id"], self._cell),
                )
            await self._open_target()
            return "moved"
        self._copy.move = here["id"] if here is not None else uuid.uuid4().hex
        arrives = there is not None and there["id"] == self._copy.move
        if not arrives:
            await self._require_free(there)
        if here is None:
            await self._enter_source(peer)
        if not arrives:
            await self._enter_target(there)
        await self._copy.begin()
        return "leaving"

    async def _require_free(self, there: "Row | None") -> None:
        has = await self._target.fetchval(
            "SELECT EXISTS (SELECT FROM sapwood.agents WHERE space = $1)", self._space
        )
        if there is not None and there["state"] == "moved":
            return  # it was there before; what is left is deleted
        if has or there is not None:
            raise LogError(
                f"The other database has a space '{self._space}' already. Nothing was changed."
            )

    async def _enter_source(self, peer: str) -> None:
        async with self._source.transaction():
            await self._source.execute(_LOCK, self._space)
            if await self._source.fetchval(
                "SELECT EXISTS (SELECT FROM sapwood.erasures WHERE space = $1 AND finished = 0)",
                self._space,
            ):
                raise LogError(
                    f"An erasure in the space '{self._space}' is not finished. Nothing was "
                    "changed. To finish it, type: sapwood erase --list --database ADDRESS"
                )
            if not await self._source.fetchval(
                "SELECT EXISTS (SELECT FROM sapwood.agents WHERE space = $1)", self._space
            ):
                raise LogError(f"This database has no space '{self._space}'. Nothing was changed.")
            await self._source.execute(
                "INSERT INTO sapwood.moves (space, id, state, cell, peer)"
                " VALUES ($1, $2, 'leaving', $3, $4)",
                *(self._space, self._copy.move, self._cell, peer),
            )

    async def _enter_target(self, there: "Row | None") -> None:
        """From now on, only this move may write the space at the new place."""
        if there is not None:  # it was there before
            moved, self._copy.move = self._copy.move, there["id"]
            await self._delete(self._target)
            self._copy.move = moved
        async with self._target.transaction():
            await self._target.execute(_LOCK, self._space)
            await self._target.execute(
                "INSERT INTO sapwood.moves (space, id, state) VALUES ($1, $2, 'arriving')"
                " ON CONFLICT (space) DO UPDATE SET id = excluded.id, state = 'arriving',"
                " tx = '0', position = 0, since = now()",
                *(self._space, self._copy.move),
            )
            await self._target.execute(
                "DELETE FROM sapwood.space_keys WHERE space = $1", self._space
            )

    async def _peer(self) -> str:
        """Which database the space goes to, without its address."""
        name = await self._target.fetchval(_PEER)
        with suppress(asyncpg.InsufficientPrivilegeError):
            name += f" {await self._target.fetchval(_SERVER)}"
        return hashlib.sha256(name.encode()).hexdigest()[:32]

    async def _state(self, side: "Connection") -> "Row | None":
        return await side.fetchrow(_STATE, self._space)

    async def _hand_over(self) -> float:
        """Stops the space, copies the rest and changes its owner. Returns the pause in seconds.

        Raises `_Expired` if that took too long; then the space continues where it was.
        """
        self._on_step("stop")
        began = monotonic()
        await self._change_alone(
            self._source,
            "UPDATE sapwood.moves SET state = 'stopped',"
            f" until = clock_timestamp() + make_interval(secs => {STOP_SECONDS})",
            "state IN ('leaving', 'stopped')",
        )
        # Without a timeout: a statement that is cancelled may leave its transaction open, and what
        # is stored in that is lost. If it takes too long, the decision is refused.
        try:
            await self._copy.rest()
        except CopyDiffers:
            if await self._is_stopped():
                raise
            raise _Expired from None  # it went on meanwhile
        if self._target.is_in_transaction():
            raise LogError(
                f"The copy of the space '{self._space}' is not stored. The space stays where it "
                "was. Try again."
            )
        self._on_step("decide")
        if not await self._change_alone(
            self._source,
            "UPDATE sapwood.moves SET state = 'moved', until = NULL,"
            f" cell = {_literal(self._cell)}",
            "state = 'stopped' AND until > clock_timestamp()",
        ):
            raise _Expired
        await self._open_target()
        return monotonic() - began

    async def _is_stopped(self) -> bool:
        return await self._source.fetchval(
            "SELECT EXISTS (SELECT FROM sapwood.moves WHERE space = $1 AND id = $2"
            " AND state = 'stopped' AND until > clock_timestamp())",
            *(self._space, self._copy.move),
        )

    async def _open_target(self) -> None:
        """From now on the new place serves the space."""
        self._on_step("open")
        await self._change_alone(self._target, "DELETE FROM sapwood.moves", "state = 'arriving'")

    async def _change_alone(self, side: "Connection", change: str, condition: str) -> bool:
        """Changes the row of this move while nobody changes the space. Whether it met `condition`.

        Both statements are one message and one transaction: the space waits for each round trip.
        """
        space, move = _literal(self._space), _literal(self._copy.move)
        done = await side.execute(
            f"SELECT pg_advisory_xact_lock({_LOCK_CLASS}, hashtext({space}));"
            f" {change} WHERE space = {space} AND id = {move} AND {condition}"
        )
        return done.endswith(" 1")

    async def _forget_arriving(self) -> None:
        """Ends an arrival. A space that was there before the move is again somewhere else."""
        async with self._copy.arrives():
            for statement in (
                "DELETE FROM sapwood.tokens WHERE space = $1 AND EXISTS (SELECT FROM sapwood.moves"
                " WHERE space = $1 AND id = $2 AND peer = '')",
                "DELETE FROM sapwood.moves WHERE space = $1 AND id = $2 AND peer = ''",
                "UPDATE sapwood.moves SET state = 'moved' WHERE space = $1 AND id = $2",
            ):
                await self._target.execute(statement, self._space, self._copy.move)

    async def _delete(self, side: "Connection") -> None:
        """Deletes everything of the space on one side, where it has moved or is arriving."""
        while True:
            async with side.transaction():
                await self._as_mover(side)
                await side.execute(INDEX_LOCK, self._space)
                gone = await side.fetch(
                    "DELETE FROM sapwood.agents WHERE space = $1 AND agent IN (SELECT agent"
                    " FROM sapwood.agents WHERE space = $1 LIMIT $2) RETURNING agent",
                    *(self._space, _AGENTS),
                )
                agents = [row["agent"] for row in gone]
                for table in ("agent_keys", "events", "snapshots", "search"):
                    await side.execute(
                        f"DELETE FROM sapwood.{table} WHERE space = $1 AND agent = ANY($2)",
                        *(self._space, agents),
                        timeout=PATIENCE,
                    )
            if not gone:
                break
        async with side.transaction():
            await self._as_mover(side)
            await side.execute(INDEX_LOCK, self._space)
            for table in _LEFT:
                await side.execute(
                    f"DELETE FROM sapwood.{table} WHERE space = $1", self._space, timeout=PATIENCE
                )
            if await side.fetchval("SELECT to_regclass('sapwood_engine.bells')") is not None:
                await side.execute("DELETE FROM sapwood_engine.bells WHERE space = $1", self._space)

    async def _as_mover(self, side: "Connection") -> None:
        await side.execute("SELECT set_config('sapwood.move', $1, true)", self._copy.move)


def _literal(text: str) -> str:
    """A text as an expression of SQL. It is written in digits, so nothing in it can end it."""
    return f"convert_from(decode('{text.encode().hex()}', 'hex'), 'UTF8')"


async def open_sides(source: str, target: str) -> "tuple[Connection, Connection]":
    """Connections to both databases. Raises `LogError`."""
    try:
        here = await Server(source, PATIENCE).connect(session=True)
        with terminated_on_error(here):
            return here, await Server(target, PATIENCE).connect(session=True)
    except DRIVER_ERRORS as error:
        raise log_error(error, "Nothing was changed.") from error
