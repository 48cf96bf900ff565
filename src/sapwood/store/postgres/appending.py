"""The statements that append: one round trip for a batch, and what to make of a refusal."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import asyncpg
import msgspec

from sapwood.core.log import LogError, Receipt, VersionConflict
from sapwood.store.postgres.faults import is_conflict
from sapwood.store.postgres.job import Job

if TYPE_CHECKING:
    from asyncpg.prepared_stmt import PreparedStatement

    from sapwood.store.postgres.sessions import Session

    Statement = PreparedStatement[asyncpg.Record]

__all__ = ["Appender"]

_ONE = f"SELECT sapwood.append_one({', '.join(f'${n}' for n in range(1, 20))})"
_MANY = f"SELECT sapwood.append_many({', '.join(f'${n}' for n in range(1, 26))})"
_RECEIPT = "SELECT data FROM sapwood.receipts WHERE space = $1 AND command = $2"
_VERSIONS = "SELECT agent, version FROM sapwood.agents WHERE space = $1 AND agent = ANY($2)"

# JSON has no raw control characters, so only an odd id can hold one of these.
_MARKS = [chr(code) for code in (0x1F, 0x1E, 0x1D, 0x1C, *range(1, 0x1C))]

_receipt = msgspec.json.Decoder(Receipt)


class Appender:
    """A session that appends, with both statements prepared for as long as it lives."""

    def __init__(self, session: "Session", one: "Statement", many: "Statement") -> None:
        self.session = session
        self._one = one
        self._many = many

    @classmethod
    async def on(cls, session: "Session") -> "Appender":
        """Prepares a session."""
        return cls(session, await session.prepare(_ONE), await session.prepare(_MANY))

    async def append(self, jobs: Sequence[Job]) -> bool:
        """Stores all of the jobs, or none: False if one of them was refused."""
        try:
            if len(jobs) == 1 and (one := _of_one_turn(jobs[0])):
                await self._one.fetch(*one)
            else:
                await self._many.fetch(*_of_many(jobs))
        except asyncpg.PostgresError as fault:
            if is_conflict(fault):
                return False
            raise
        return True

    async def diagnose(self, job: Job) -> Receipt | VersionConflict | None:
        """Why a job was refused: its command is known or a log has grown, or None if neither."""
        known = await self.session.fetchval(_RECEIPT, job.space, job.commit.receipt.command)
        if known is not None:
            return _receipt.decode(known)
        rows = await self.session.fetch(_VERSIONS, job.space, job.touched)
        found = {row["agent"]: row["version"] for row in rows}
        for append in job.commit.appends:
            if found.get(append.agent, 0) != append.expected:
                return VersionConflict(append.agent, append.expected)
        return None


def _of_one_turn(job: Job) -> list[object] | None:
    """The arguments for one log, if one actor and one command stand behind all its events."""
    if len(job.agents) != 1 or not job.events:
        return None
    space, agent, expected, version, facts, name, parent, status, created = job.agents[0]
    command, actor = job.commit.receipt.command, job.events[0][7]
    if any(row[7] != actor or row[8] != command for row in job.events):
        return None
    _, _, _, kinds, data, contents, ats, _, _ = zip(*job.events, strict=True)
    mark = _MARKS[0]  # kinds, JSON, digests and numbers: no control character in any of them
    hashes, texts = _columns_of_contents(job.contents)
    return [
        *(mark, space, agent, int(expected), int(version), facts),
        *(name, parent or None, status, int(created)),
        *(command, job.receipt, hashes, texts, actor),
        *(mark.join(kinds), mark.join(data)),
        mark.join(contents) if hashes else None,
        mark.join(ats),
    ]


def _of_many(jobs: Sequence[Job]) -> list[object]:
    """The arguments for any number of commits, sorted so that no two writers block each other."""
    agents = sorted((row for job in jobs for row in job.agents), key=lambda row: row[:2])
    receipts = sorted((job.space, job.commit.receipt.command, job.receipt) for job in jobs)
    events = list(chain.from_iterable(job.events for job in jobs))
    contents = {(job.space, digest): text for job in jobs for digest, text in job.contents.items()}
    keys = sorted(contents)
    for mark in _MARKS:
        columns = _joined(mark, agents, 9), _joined(mark, receipts, 3), _joined(mark, events, 9)
        if None not in columns:
            break
    else:
        raise LogError("An id holds every control character there is. Nothing was stored.")
    return [
        mark,
        *(columns[0] or ()),
        *(columns[1] or ()),
        [key[0] for key in keys] or None,
        [key[1] for key in keys] or None,
        [contents[key] for key in keys] or None,
        *(columns[2] or ()),
    ]


def _joined(mark: str, rows: Sequence[Sequence[str]], width: int) -> Sequence[str | None] | None:
    """Each column as one text, or None if a value holds the mark."""
    if not rows:
        return [None] * width
    columns: list[str | None] = []
    for column in zip(*rows, strict=True):
        joined = mark.join(column)
        if joined.count(mark) != len(rows) - 1:
            return None
        columns.append(joined)
    return columns


def _columns_of_contents(
    contents: dict[bytes, bytes],
) -> tuple[list[bytes] | None, list[bytes] | None]:
    if not contents:
        return None, None
    hashes = sorted(contents)
    return hashes, [contents[digest] for digest in hashes]
