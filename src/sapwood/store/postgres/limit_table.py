"""What principals and spaces have used of their limits, counted together by all servers."""

from collections.abc import Mapping

from sapwood.store.postgres.connections import ReaderPool

# In the order of the keys, so that servers do not wait for each other in a circle.
_COUNT = """
    INSERT INTO sapwood.request_limits AS known (key, due)
    SELECT used.key, extract(epoch FROM clock_timestamp()) + used.seconds
    FROM unnest($1::text[], $2::double precision[]) AS used (key, seconds)
    ON CONFLICT (key) DO UPDATE SET due = excluded.due
        + greatest(0, known.due - extract(epoch FROM clock_timestamp())::double precision)
    RETURNING key, due - extract(epoch FROM clock_timestamp())::double precision AS ahead
"""
_FORGET = """
    DELETE FROM sapwood.request_limits WHERE due < extract(epoch FROM clock_timestamp()) - 60
"""


class LimitTable:
    """The table `request_limits`."""

    def __init__(self, readers: ReaderPool) -> None:
        self._readers = readers

    async def count(self, used: Mapping[str, float]) -> dict[str, float]:
        """Adds what this server let pass, in seconds for each key.

        Returns by how many seconds each key is ahead now, over all servers.
        """
        keys = sorted(used)
        rows = await self._readers.fetch(_COUNT, keys, [used[key] for key in keys])
        return {row["key"]: row["ahead"] for row in rows}

    async def forget(self) -> None:
        """Removes the rows of those who have used nothing for a minute."""
        await self._readers.fetch(_FORGET)
