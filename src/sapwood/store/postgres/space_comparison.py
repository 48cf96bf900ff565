"""Compares a space with its copy in another database, most of it while the space is used.

What was equal once is compared again only if it has changed since, so the comparison in the stop
does not take longer in a large space. Every change of an agent stores events, whose number of the
transaction says which agents have changed.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sapwood.core.errors import LogError
from sapwood.core.ids import Space
from sapwood.store.postgres.event_table import MAX_BIGINT

if TYPE_CHECKING:
    from datetime import datetime

    from sapwood.store.postgres.connections import Connection

    AgentRow = tuple[int, bytes]

PATIENCE = 600.0
"""Seconds that one statement over a whole space may take."""
_AGENTS = 200

_HASHES = """
    SELECT asked.agent, found.version, found.hash
    FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS asked (agent, first, last),
    LATERAL (
        SELECT coalesce(max(version), 0) AS version, sha256(coalesce(string_agg(sha256(convert_to(
            concat_ws(chr(31), version, kind, data, coalesce(encode(contents, 'hex'), '-'), at,
                actor, command), 'UTF8')), ''::bytea ORDER BY version), ''::bytea)) AS hash
        FROM sapwood.events
        WHERE space = $1 AND agent = asked.agent AND version > asked.first AND version <= asked.last
    ) AS found
"""
_ROWS = """
    SELECT agent, version, sha256(convert_to(facts, 'UTF8')) AS hash
    FROM sapwood.agents WHERE space = $1 AND agent = ANY($2)
"""
_NAMES = "SELECT agent FROM sapwood.agents WHERE space = $1"
_CHANGED = "SELECT DISTINCT agent FROM sapwood.events WHERE space = $1 AND tx >= $2::text::xid8"
_RECEIPTS = """
    SELECT sha256(coalesce(string_agg(sha256(convert_to(
        concat_ws(chr(31), command, data), 'UTF8')), ''::bytea ORDER BY command), ''::bytea))
    FROM sapwood.receipts WHERE space = $1 AND at {when} $2
"""
_OLD_RECEIPTS, _RECENT_RECEIPTS = _RECEIPTS.format(when="<"), _RECEIPTS.format(when=">=")
_RECENT = """
    SELECT CASE WHEN bool_or(backend_type = 'client backend' AND state IS NULL)
        THEN clock_timestamp() - interval '15 minutes'
        ELSE least(clock_timestamp() - interval '1 minute', min(xact_start)) END
    FROM pg_stat_activity WHERE datname = current_database()
"""
"""What is older was stored by transactions that have ended.

Logins without the role pg_read_all_stats do not see when transactions of others began.
"""


class CopyDiffers(LogError):
    """The copy is not what the place before has."""


class SpaceComparison:
    """What is known to be equal at both places, for one move."""

    def __init__(self, space: Space, source: "Connection", target: "Connection") -> None:
        self._space = space
        self._source = source
        self._target = target
        self._checked: defaultdict[str, int] = defaultdict(int)
        self._known: int | None = None
        self._unequal: set[str] = set()
        self.recent: datetime | None = None
        """Receipts from this time on are compared in the stop."""

    @property
    def agents(self) -> int:
        """How many logs were compared."""
        return len(self._checked)

    async def compare(self, known: int) -> int:
        """Compares agents that changed since the last time, at first all of them.

        Transactions before the number `known` have ended, and what they stored has been copied. An
        agent may differ because somebody changed it meanwhile: then it is compared again in the
        stop. Returns how many were compared. Raises `CopyDiffers` if an event that has arrived
        differs.
        """
        if self._known is None:
            sides = (self._target, self._source)  # an agent arrives after it was there
            names = [await each.fetch(_NAMES, self._space, timeout=PATIENCE) for each in sides]
            agents = {row["agent"] for side in names for row in side}
        else:
            agents = await self._changed() | self._unequal
        await self._compare_logs(agents)
        self._unequal = await self._compare_rows(agents)
        self._known = known
        return len(agents)

    async def compare_rest(self, changed: Iterable[str]) -> None:
        """Compares the agents that changed since the last time, in the stop: they must be equal."""
        agents = self._unequal.union(changed, await self._changed())
        await self._compare_logs(agents, is_stopped=True)
        if await self._compare_rows(agents):
            raise self.differs("the table agents")

    @asynccontextmanager
    async def of_stop(self) -> AsyncGenerator["SpaceComparison"]:
        """Itself; what was compared in a stop that fails counts as not compared."""
        before = self._checked.copy()
        try:
            yield self
        except BaseException:
            self._checked = before
            raise

    async def begin_receipts(self) -> None:
        """Notes which receipts are so old that no transaction adds to them any more."""
        self.recent = await self._source.fetchval(_RECENT)

    async def compare_old_receipts(self) -> None:
        """Compares the receipts before `recent`: there can be millions, and they never change."""
        if not await self._is_equal(_OLD_RECEIPTS):
            raise self.differs("the table receipts")

    async def has_recent_receipts(self) -> bool:
        """Whether the other receipts have arrived."""
        return await self._is_equal(_RECENT_RECEIPTS)

    async def require_recent_receipts(self) -> None:
        """Raises `CopyDiffers` if the other receipts have not arrived."""
        if not await self.has_recent_receipts():
            raise self.differs("the table receipts")

    def differs(self, what: str) -> CopyDiffers:
        """The error that names what differs."""
        return CopyDiffers(
            f"The copy of the space '{self._space}' differs in {what}. The space stays where it "
            "was. Delete the copy: --take-back"
        )

    async def _changed(self) -> set[str]:
        """The agents that transactions have changed of which the last comparison knew nothing."""
        rows = await self._source.fetch(_CHANGED, self._space, str(self._known or 0))
        return {row["agent"] for row in rows}

    async def _compare_logs(self, agents: Iterable[str], *, is_stopped: bool = False) -> None:
        """Compares the hash of each log, from what was compared before.

        While the space is used, only up to what has arrived.
        """
        for page in _pages(agents):
            first, last = [self._checked[name] for name in page], [MAX_BIGINT] * len(page)
            if is_stopped:
                here, arrived = await asyncio.gather(
                    *(self._log_hashes(s, page, first, last) for s in (self._source, self._target))
                )
            else:
                arrived = await self._log_hashes(self._target, page, first, last)
                last = [arrived[name][0] for name in page]
                here = await self._log_hashes(self._source, page, first, last)
            if here != arrived:
                raise self.differs("the log of an agent")
            self._checked.update(
                {name: max(arrived[name][0], self._checked[name]) for name in page}
            )

    async def _log_hashes(
        self, side: "Connection", agents: list[str], first: list[int], last: list[int]
    ) -> "dict[str, AgentRow]":
        rows = await side.fetch(_HASHES, self._space, agents, first, last, timeout=PATIENCE)
        return {row["agent"]: (row["version"], row["hash"]) for row in rows}

    async def _compare_rows(self, agents: Iterable[str]) -> set[str]:
        """The agents of which the rows differ, or have another version than the compared log."""
        unequal: set[str] = set()
        for page in _pages(agents):
            here, there = await asyncio.gather(
                *(self._rows(side, page) for side in (self._source, self._target))
            )
            unequal.update(
                name
                for name in page
                if here.get(name) != there.get(name)
                or name not in here
                or here[name][0] != self._checked[name]
            )
        return unequal

    async def _rows(self, side: "Connection", agents: list[str]) -> "dict[str, AgentRow]":
        rows = await side.fetch(_ROWS, self._space, agents, timeout=PATIENCE)
        return {row["agent"]: (row["version"], row["hash"]) for row in rows}

    async def _is_equal(self, query: str) -> bool:
        """Whether a query over receipts has the same result at both places."""
        here, there = await asyncio.gather(
            *(
                side.fetchval(query, self._space, self.recent, timeout=PATIENCE)
                for side in (self._source, self._target)
            )
        )
        return here == there


def _pages(agents: Iterable[str]) -> list[list[str]]:
    names = sorted(agents)
    return [names[start : start + _AGENTS] for start in range(0, len(names), _AGENTS)]
