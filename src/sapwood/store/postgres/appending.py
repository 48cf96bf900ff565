"""A session that appends: one round trip for a turn or a batch, and what a refusal means."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg
import msgspec

from sapwood.core.log import LogError, Receipt, VersionConflict
from sapwood.store.postgres.faults import is_conflict
from sapwood.store.postgres.job import Job, Stream, plain_name
from sapwood.store.postgres.sessions import terminating
from sapwood.store.postgres.turn import is_turn, turn_statement, turn_values

if TYPE_CHECKING:
    from asyncpg.prepared_stmt import PreparedStatement

    from sapwood.store.postgres.sessions import Session

    Statement = PreparedStatement[asyncpg.Record]

__all__ = ["Appender"]

_MANY = f"SELECT sapwood.append({', '.join(f'${n}' for n in range(1, 26))})"
_RECEIPT = "SELECT data FROM sapwood.receipts WHERE space = $1 AND command = ANY($2) LIMIT 1"
_VERSIONS = "SELECT agent, version FROM sapwood.agents WHERE space = $1 AND agent = ANY($2)"

# JSON and numbers have no control characters; only these columns could hold a mark.
_MARKS = [chr(code) for code in (0x1F, 0x1E, 0x1D, 0x1C, *range(1, 0x1C))]
_NAMES = (0, 1, 5, 6, 9, 10, 12, 13, 19, 20)

_receipt = msgspec.json.Decoder(Receipt)


class Appender:
    """A session that appends. Its statements stay prepared for as long as it lives."""

    def __init__(self, session: "Session", many: "Statement") -> None:
        self.session = session
        self._many = many
        self._turns: dict[int, Statement] = {}

    @classmethod
    async def on(cls, session: "Session") -> "Appender":
        """Prepares a session."""
        with terminating(session):
            return cls(session, await session.prepare(_MANY))

    async def append(self, jobs: Sequence[Job]) -> bool:
        """Stores all of the jobs, or none: False if one of them was refused."""
        try:
            if len(jobs) == 1 and is_turn(jobs[0]):
                return await self._append_turn(jobs[0])
            await self._many.fetch(*_of_many(jobs))
        except asyncpg.PostgresError as fault:
            if is_conflict(fault):
                return False
            raise
        return True

    async def _append_turn(self, job: Job) -> bool:
        size = len(job.streams[0].events)
        statement = self._turns.get(size)
        if statement is None:
            statement = self._turns[size] = await self.session.prepare(turn_statement(size))
        return bool(await statement.fetch(*turn_values(job)))

    async def diagnose(self, job: Job) -> Receipt | VersionConflict | None:
        """Why a job was refused: its command is known or a log has grown, or None if neither."""
        commands = [command for command, _ in job.receipts]
        known = await self.session.fetchval(_RECEIPT, job.space, commands)
        if known is not None:
            return _receipt.decode(known)
        rows = await self.session.fetch(
            _VERSIONS, job.space, [append.agent for append in job.commit.appends]
        )
        found = {row["agent"]: row["version"] for row in rows}
        for append in job.commit.appends:
            if found.get(append.agent, 0) != append.expected:
                return VersionConflict(append.agent, append.expected)
        return None


def _of_many(jobs: Sequence[Job]) -> list[object]:
    """The arguments for any number of commits, sorted so that no two writers block each other."""
    agents = sorted(
        (_agent(job, stream) for job in jobs for stream in job.streams), key=lambda row: row[:2]
    )
    receipts = sorted((job.space, *receipt) for job in jobs for receipt in job.receipts)
    contents = {(job.space, digest): text for job in jobs for digest, text in job.contents.items()}
    keys = sorted(contents)
    columns = [*_columns(agents, 9), *_columns(receipts, 3), *_event_columns(jobs)]
    mark, joined = _joined(columns)
    return [
        mark,
        *joined[:12],
        [key[0] for key in keys] or None,
        [key[1] for key in keys] or None,
        [contents[key] for key in keys] or None,
        *joined[12:],
    ]


def _agent(job: Job, stream: Stream) -> tuple[str, ...]:
    append, facts = stream.append, stream.append.facts
    return (
        *(job.space, append.agent, str(append.expected), str(facts.version), stream.facts),
        *(plain_name(facts.name), facts.parent or "", facts.status, str(facts.created)),
    )


def _columns(rows: Sequence[Sequence[str]], width: int) -> list[Sequence[str]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width


def _event_columns(jobs: Sequence[Job]) -> list[list[str]]:
    streams = [stream for job in jobs for stream in job.streams]
    recorded = [each for stream in streams for each in stream.append.events]
    encoded = [each for stream in streams for each in stream.events]
    return [
        [job.space for job in jobs for stream in job.streams for _ in stream.events],
        [each.agent for each in recorded],
        [str(each.version) for each in recorded],
        [each.kind for each in encoded],
        [each.data for each in encoded],
        ["".join(each.contents) for each in encoded],
        [str(each.at) for each in recorded],
        [str(each.actor) for each in recorded],
        [each.command for each in recorded],
    ]


def _joined(columns: Sequence[Sequence[str]]) -> tuple[str, list[str | None]]:
    """Each column as one text, and the mark between its values, which none of them holds."""
    for mark in _MARKS:
        joined = [mark.join(column) if column else None for column in columns]
        if all(_apart(joined[place], columns[place], mark) for place in _NAMES):
            return mark, joined
    raise LogError("An id holds every control character there is. Nothing was stored.")


def _apart(joined: str | None, column: Sequence[str], mark: str) -> bool:
    return joined is None or joined.count(mark) == len(column) - 1
