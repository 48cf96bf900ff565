"""How far the order of events is settled: before this place no event can appear any more.

Transactions can end in another order than they began. Those before the oldest running one
(`pg_snapshot_xmin`) have ended, but PostgreSQL counts the transactions of all programs and of all
databases of the server. If a stranger's transaction stays open, the locks show which of the running
ones write to the tables of Sapwood; only these can still store an event.
"""

from sapwood.store.postgres.connections import ReaderPool

PASSED = "greatest(pg_snapshot_xmin(pg_current_snapshot())::text::bigint + $4, $5::bigint)"
"""The settled limit in a statement whose 4th and 5th arguments are `Settled.arguments`."""

# A transaction of Sapwood locks a table before its first write gives it a number, and keeps the
# lock until others can see what it wrote. So one that has a number in this snapshot and no such
# lock afterwards has ended, or is a stranger's. The caller reads events with a later snapshot.
_ADVANCE = """
    WITH held AS MATERIALIZED (
        SELECT locktype, database, relation, transactionid, virtualtransaction, mode
        FROM pg_locks WHERE granted
    )
    SELECT least(pg_snapshot_xmax(shot)::text::bigint, (
        SELECT min(running::text::bigint) FROM pg_snapshot_xip(shot) AS running
        WHERE EXISTS (
            SELECT FROM held AS own
            JOIN held AS used USING (virtualtransaction)
            JOIN pg_class ON pg_class.oid = used.relation
            WHERE own.locktype = 'transactionid' AND own.transactionid = running::xid
                AND used.locktype = 'relation'
                AND used.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND used.mode NOT IN ('AccessShareLock', 'RowShareLock')
                AND pg_class.relnamespace = 'sapwood'::regnamespace
        )
    )) AS number FROM pg_current_snapshot() AS shot
"""


class Settled:
    """The limit that this process has found. It only grows."""

    def __init__(self, readers: ReaderPool, shift: int) -> None:
        """`shift` is what this server adds to the numbers of transactions."""
        self._readers = readers
        self._shift = shift
        self._limit = 0

    @property
    def arguments(self) -> tuple[int, int]:
        """The shift, and the limit."""
        return self._shift, self._limit

    async def advance(self) -> None:
        """Looks past the transactions of strangers. Takes longer than to look at the oldest one."""
        (row,) = await self._readers.fetch(_ADVANCE)
        self._limit = max(self._limit, row["number"] + self._shift)
