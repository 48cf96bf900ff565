"""The wall between spaces: a login that sees one space at a time, by row-level security."""

from typing import TYPE_CHECKING

from sapwood.core.ids import Space
from sapwood.core.log_values import AvailabilityListener, LogError
from sapwood.store.postgres.connections import Reader, ReaderPool, Server

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection, Row


_BEGIN = "BEGIN READ ONLY; SELECT set_config('sapwood.space', '{space}', true)"
# `above` is a login to which row-level security does not apply, `open` one that may read a table of
# spaces that has no policy for it.
_LOGIN = """
    SELECT current_user AS name,
        (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)
            OR pg_has_role(current_user, tableowner, 'USAGE') AS above,
        EXISTS (
            SELECT FROM pg_class AS relation
            JOIN pg_attribute ON attrelid = relation.oid AND attname = 'space'
            WHERE relation.relnamespace = 'sapwood'::regnamespace AND relkind IN ('r', 'p')
                AND has_table_privilege(relation.oid, 'SELECT')
                AND NOT EXISTS (
                    SELECT FROM pg_policy, unnest(polroles) AS role
                    WHERE polrelid = relation.oid AND NOT polpermissive
                        AND pg_has_role(current_user, role, 'USAGE')
                )
        ) AS open
    FROM pg_tables WHERE schemaname = 'sapwood' AND tablename = 'events'
"""


class WalledPool(ReaderPool):
    """Connections of a login that sees one space at a time.

    The space is set for each transaction, so nothing of it is left for the next one. Without a
    space, nothing is seen.
    """

    def of(self, space: Space) -> Reader:
        """Reads for one space: the database lets nothing else through."""
        return _SpaceReader(self, space)


class _SpaceReader:
    def __init__(self, pool: WalledPool, space: Space) -> None:
        self._pool = pool
        self._begin = _BEGIN.format(space=space.replace("'", "''"))

    async def fetch(self, query: str, *args: object) -> "list[Row]":
        """Runs a statement and returns all rows."""

        async def within(connection: "Connection") -> "list[Row]":
            await connection.execute(self._begin)
            try:
                return await connection.fetch(query, *args)
            finally:
                await connection.execute("COMMIT")

        return await self._pool.use(within)

    async def fetchrow(self, query: str, *args: object) -> "Row | None":
        """Runs a statement and returns the first row, or None."""
        rows = await self.fetch(query, *args)
        return rows[0] if rows else None


async def walled_server(
    dsn: str, patience: float, on_availability: AvailabilityListener | None
) -> Server:
    """The server at an address whose login sees one space at a time.

    Raises `LogError` if the login sees more.
    """
    server = Server(dsn, patience, on_availability)
    pool = ReaderPool(server, 1)
    try:
        login = await pool.fetchrow(_LOGIN)
    finally:
        await pool.close()
    if login is None or login["above"] or login["open"]:
        name = login["name"] if login else "of the reader"
        raise LogError(
            f"The login {name} is not restricted to one space. As the owner of the tables, type: "
            "sapwood migrate --print-grants | psql ADDRESS. Then give the login the role "
            "sapwood_reader and no other."
        )
    return server
