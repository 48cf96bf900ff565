"""Copies the rows of a space to another database while it is used, and compares both sides.

Events arrive in the order of the tail, with gaps where some were erased, so that cursors stay what
they are. How far the copy is stands at the new place, in the transaction that stored it.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sapwood.core.errors import LogError
from sapwood.core.ids import Space
from sapwood.store.postgres.schema import shift_of
from sapwood.store.postgres.space_comparison import PATIENCE, SpaceComparison

if TYPE_CHECKING:
    from datetime import datetime

    from sapwood.store.postgres.connections import Connection, Row

    Place = tuple[int, int]

_FEW = 200
"""A space is stopped when so few events are left to copy."""
_PASSES, _BATCH, _AGENTS = 200, 1_000, 200
_SMALL = ("live_words", "holds", "erasures", "tokens")
_STAGED = ("contents", "receipts", "agents", "snapshots", "space_keys", *_SMALL)
"""Tables whose rows arrive in a temporary table first. It is made outside of any transaction."""

_ENDED = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + $1::bigint"
"""All transactions with a smaller number have ended."""

_COLUMNS = """
    SELECT attname FROM pg_attribute
    WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    ORDER BY attnum
"""
_AFTER = """
    FROM sapwood.{table} WHERE space = $1 AND (tx, position) > ($2, $3)
        AND ($4::bigint IS NULL
            OR tx < (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + $4)::text::xid8)
    ORDER BY tx, position LIMIT $5
"""
_ROWS = """
    (SELECT string_agg(each::text, chr(30) ORDER BY each::text)
    FROM sapwood.{table} AS each WHERE space = $1)
"""
_SMALL_TABLES = (
    f"SELECT md5(concat_ws(chr(31), {', '.join(_ROWS.format(table=t) for t in _SMALL)}))"
)
_CONTENT_HASHES = """
    SELECT hash, sha256(data) AS data FROM sapwood.contents WHERE space = $1 AND hash = ANY($2)
"""


class SpaceCopy:
    """The copy of a space at the new place, for one move."""

    def __init__(
        self,
        space: Space,
        source: "Connection",
        target: "Connection",
        on_step: Callable[[str], None],
    ) -> None:
        self._on_step = on_step
        self._space = space
        self._source = source
        self._target = target
        self.move = ""
        self.events = 0
        self._has_gaps = True
        self._small = ""
        self._at: Place | None = None
        self._columns: dict[str, list[str]] = {}
        self._comparison = SpaceComparison(space, source, target)
        self._changed: set[str] = set()

    @property
    def agents(self) -> int:
        """How many logs were compared."""
        return self._comparison.agents

    async def while_used(self) -> None:
        """Copies until little is left, then compares every log. Raises `LogError`."""
        shift = await shift_of(self._source)
        for number in range(_PASSES):
            self._on_step("copy")
            copied = await self._copy_events(shift)
            await self._copy_agents()
            if copied < _FEW and await self._left() < _FEW:
                break
            if copied < _FEW:
                await asyncio.sleep(min(1.0, 0.05 * (number + 1)))
        else:
            raise LogError(
                f"The space '{self._space}' grows faster than it can be copied, or a transaction "
                "of another program has been open for a long time. It stays where it was, and the "
                "copy is kept. Try again later, or abandon the move: --take-back"
            )
        await self._comparison.begin_receipts()
        await self._copy_missing("receipts", ("command",))
        await self._copy_missing("snapshots", ("agent", "schema", "version"))
        self._on_step("check")
        await self._comparison.compare_old_receipts()
        await self._compare_while_used(shift)
        self._small = await self._small_tables()
        await self._replace(_SMALL)

    async def _compare_while_used(self, shift: int) -> None:
        """Compares every agent, then those that changed meanwhile, until they are few."""
        for _ in range(_PASSES):
            known = await self._source.fetchval(_ENDED, shift)
            await self._copy_events(shift)
            await self._copy_agents()
            if await self._comparison.compare(known) < _FEW:
                return

    async def begin(self) -> None:
        """Prepares both sides, and copies the key of an encrypted space, before its first agent."""
        for table in _STAGED:
            await self._target.execute(
                f"CREATE TEMPORARY TABLE moved_{table} ON COMMIT DELETE ROWS AS"
                f" SELECT {', '.join(await self._columns_of(table))} FROM sapwood.{table} LIMIT 0"
            )
        self._has_gaps = await self._source.fetchval(
            "SELECT EXISTS (SELECT FROM sapwood.gaps WHERE space = $1)", self._space
        )
        query = "SELECT agent, version FROM sapwood.agents WHERE space = $1"
        here, there = [
            {tuple(row) for row in await side.fetch(query, self._space, timeout=PATIENCE)}
            for side in (self._source, self._target)
        ]
        self._changed = {agent for agent, _ in here - there}  # a killed mover may have left them
        rows = await self._fetch_by("space_keys", "space", [self._space])
        async with self.arrives():
            await self._stage("space_keys", rows)

    async def rest(self) -> None:
        """Copies and compares what came since; nobody changes the space meanwhile.

        All of it is one transaction at the new place: if it fails, nothing of it has arrived.
        """
        before = self._at, set(self._changed), self.events
        try:
            async with self.arrives(), self._comparison.of_stop() as comparison:
                await self._copy_events(None)
                changed = set(self._changed)
                await self._copy_agents()
                if await self._small_tables() != self._small:
                    await self._replace(_SMALL)
                await comparison.compare_rest(changed)
                if not await comparison.has_recent_receipts():  # those of commands without events
                    await self._copy_missing("receipts", ("command",), comparison.recent)
                    await comparison.require_recent_receipts()
        except BaseException:
            self._at, self._changed, self.events = before
            raise

    async def _small_tables(self) -> str:
        return await self._source.fetchval(_SMALL_TABLES, self._space)

    async def _left(self) -> int:
        place = await self._place()
        return await self._source.fetchval(
            "SELECT count(*) FROM (SELECT FROM sapwood.events WHERE space = $1"
            " AND (tx, position) > ($2, $3) LIMIT $4) AS later",
            *(self._space, *place, _FEW),
        )

    async def _place(self) -> "Place":
        """The place of the last event that has arrived."""
        if self._at is not None:
            return self._at
        row = await self._target.fetchrow(
            "SELECT tx, position FROM sapwood.moves"
            " WHERE space = $1 AND id = $2 AND state = 'arriving'",
            *(self._space, self.move),
        )
        if row is None:
            raise LogError(f"The move of the space '{self._space}' was abandoned in the meantime.")
        return row["tx"], row["position"]

    async def _copy_events(self, shift: int | None) -> int:
        """Copies events in the order of the tail, so that cursors stay what they are.

        With a `shift`, only what no running transaction can come before. Returns how many.
        """
        copied = 0
        while True:
            place = await self._place()
            events = await self._fetch_after("events", place, shift)
            full = len(events) == _BATCH
            gaps = await self._fetch_after("gaps", place, shift) if self._has_gaps else []
            last = _place_of(events[-1]) if full else None
            if len(gaps) == _BATCH and (last is None or _place_of(gaps[-1]) < last):
                last, full = _place_of(gaps[-1]), True
            rows = sorted(
                (row for row in (*events, *gaps) if last is None or _place_of(row) <= last),
                key=_place_of,
            )
            if rows:
                await self._store_events(rows)
            copied += len(rows)
            if not full:
                return copied

    async def _fetch_after(self, table: str, place: "Place", shift: int | None) -> "list[Row]":
        columns = await self._columns_of(table)
        query = f"SELECT {', '.join(columns)} {_AFTER.format(table=table)}"
        return await self._source.fetch(query, self._space, *place, shift, _BATCH)

    async def _store_events(self, rows: "Sequence[Row]") -> None:
        """Stores events and gaps with what they refer to, and how far the copy is."""
        names = [name for name in await self._columns_of("events") if name not in _PLACE]
        found = [row for row in rows if "agent" in row.keys()]  # noqa: SIM118  # of a record
        hashes = {h for row in found for h in _split(row["contents"])}
        contents = await self._fetch_by("contents", "hash", sorted(hashes))
        receipts = await self._fetch_by("receipts", "command", list({r["command"] for r in found}))
        async with self.arrives():
            await self._stage("contents", contents)
            await self._stage("receipts", receipts)
            if contents:
                await self._check_contents(contents)
            for is_gap, run in _runs(rows):
                if is_gap:
                    await self._target.execute(
                        "INSERT INTO sapwood.gaps (space, tx, position)"
                        " SELECT $1, (pg_current_xact_id()::text::bigint + $2)::text::xid8,"
                        " nextval('sapwood.positions') FROM generate_series(1, $3)",
                        *(self._space, await shift_of(self._target), len(run)),
                    )
                else:
                    await self._store("sapwood", "events", names, run)
            await self._target.execute(
                "UPDATE sapwood.moves SET tx = $3, position = $4 WHERE space = $1 AND id = $2",
                *(self._space, self.move, *_place_of(rows[-1])),
            )
        self._at = _place_of(rows[-1])
        self._changed.update(row["agent"] for row in found)
        self.events += len(found)

    async def _check_contents(self, rows: "Sequence[Row]") -> None:
        hashes = [row["hash"] for row in rows]
        found = await self._target.fetch(_CONTENT_HASHES, self._space, hashes)
        expected = {row["hash"]: hashlib.sha256(row["data"]).digest() for row in rows}
        if {row["hash"]: row["data"] for row in found} != expected:
            raise self._comparison.differs("the long texts")

    async def _copy_agents(self) -> None:
        """Copies the rows of the agents whose events were copied."""
        changed = sorted(self._changed)
        for start in range(0, len(changed), _AGENTS):
            rows = await self._fetch_by("agents", "agent", changed[start : start + _AGENTS])
            async with self.arrives():
                await self._stage("agents", rows, key=("space", "agent"))
        self._changed.clear()

    async def _copy_missing(
        self, table: str, key: Sequence[str], since: "datetime | None" = None
    ) -> None:
        """Copies the rows whose key is not at the new place yet; with `since`, only of later."""
        query = f"SELECT {', '.join(key)} FROM sapwood.{table} WHERE space = $1"
        values = [self._space] if since is None else [self._space, since]
        query += "" if since is None else " AND at >= $2"
        here = await self._source.fetch(query, *values, timeout=PATIENCE)
        there = await self._target.fetch(query, *values, timeout=PATIENCE)
        missing = sorted({row[0] for row in {tuple(r) for r in here} - {tuple(r) for r in there}})
        for start in range(0, len(missing), _BATCH):
            rows = await self._fetch_by(table, key[0], missing[start : start + _BATCH])
            async with self.arrives():
                await self._stage(table, rows)

    async def _replace(self, tables: Sequence[str]) -> None:
        """Makes the rows of small tables the same as those at the place before."""
        rows = {table: await self._fetch_by(table, "space", [self._space]) for table in tables}
        async with self.arrives():
            for table in tables:
                await self._target.execute(
                    f"DELETE FROM sapwood.{table} WHERE space = $1", self._space
                )
                await self._stage(table, rows[table])

    async def _fetch_by(self, table: str, key: str, values: Sequence[object]) -> "list[Row]":
        if not values:
            return []
        columns = ", ".join(await self._columns_of(table))
        query = f"SELECT {columns} FROM sapwood.{table} WHERE space = $1 AND {key} = ANY($2)"
        return await self._source.fetch(query, self._space, values)

    async def _stage(self, table: str, rows: "Sequence[Row]", key: Sequence[str] = ()) -> None:
        """Inserts rows at the new place; with a `key`, replaces those that are there."""
        if not rows:
            return
        names = await self._columns_of(table)
        sets = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
        conflict = f"({', '.join(key)}) DO UPDATE SET {sets}" if key else "DO NOTHING"
        if len(rows) < _FEW:
            await self._store("sapwood", table, names, rows, f" ON CONFLICT {conflict}")
            return
        staged = f"moved_{table}"
        await self._store("pg_temp", staged, names, rows)
        await self._target.execute(
            f"INSERT INTO sapwood.{table} ({', '.join(names)})"
            f" SELECT {', '.join(names)} FROM {staged} ON CONFLICT {conflict}"
        )

    async def _store(
        self,
        schema: str,
        table: str,
        names: Sequence[str],
        rows: "Sequence[Row]",
        ending: str = "",
    ) -> None:
        """Inserts rows at the new place: few in one round trip, many by COPY."""
        records = [tuple(row[name] for name in names) for row in rows]
        if len(records) < _FEW:
            values = ", ".join(f"${number}" for number in range(1, len(names) + 1))
            await self._target.executemany(
                f"INSERT INTO {schema}.{table} ({', '.join(names)}) VALUES ({values}){ending}",
                records,
            )
        else:
            await self._target.copy_records_to_table(
                table, schema_name=schema, columns=names, records=records
            )

    def arrives(self) -> "_Arrival":
        """A transaction that writes at the new place, or the one that is open there.

        Raises `LogError` if the move has ended.
        """
        return _Arrival(self._target, self._space, self.move)

    async def _columns_of(self, table: str) -> list[str]:
        known = self._columns.get(table)
        if known is None:
            rows = await self._source.fetch(_COLUMNS, f"sapwood.{table}")
            known = self._columns[table] = [row["attname"] for row in rows]
        return known


class _Arrival:
    """A transaction that writes at the new place, if the move is still under way there."""

    def __init__(self, target: "Connection", space: Space, move: str) -> None:
        self._target = target
        self._space = space
        self._id = move
        self._transaction = None if target.is_in_transaction() else target.transaction()

    async def __aenter__(self) -> None:
        if self._transaction is None:
            return
        await self._transaction.start()
        found = await self._target.fetchval(
            "SELECT set_config('sapwood.move', $2, true) FROM sapwood.moves"
            " WHERE space = $1 AND id = $2 AND state = 'arriving' FOR UPDATE",
            *(self._space, self._id),
        )
        if not found:
            await self._transaction.rollback()
            raise LogError(f"The move of the space '{self._space}' was abandoned in the meantime.")

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._transaction is None:
            return
        if kind is None:
            await self._transaction.commit()
        else:
            await self._transaction.rollback()


_PLACE = ("tx", "position")
_HASH_BYTES = 32


def _place_of(row: "Row") -> "Place":
    return row["tx"], row["position"]


def _split(hashes: bytes | None) -> list[bytes]:
    whole = hashes or b""
    return [whole[n : n + _HASH_BYTES] for n in range(0, len(whole), _HASH_BYTES)]


def _runs(rows: "Sequence[Row]") -> "list[tuple[bool, list[Row]]]":
    """The rows in order, those of one kind together: whether they are gaps, and the rows."""
    runs: list[tuple[bool, list[Row]]] = []
    for row in rows:
        is_gap = "agent" not in row.keys()  # noqa: SIM118  # of a record
        if not runs or runs[-1][0] != is_gap:
            runs.append((is_gap, []))
        runs[-1][1].append(row)
    return runs
