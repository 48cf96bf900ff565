"""The statements that append commits: one round trip for a single turn or for a batch.

There are two ways. The most common commit is a turn: a few events of one agent by one actor. It
has its own statement, prepared once for each number of events, which is a third faster than
the general way. It refuses without an exception: if the agent is not at the expected version, its
row is not updated, and the rest of the statement inserts and deletes nothing.

An agent is the one that the program knows if it was created at the same moment: the id of an erased
agent may be used again, and the new agent may be at the expected version.

All other commits, and every batch, go through the function `sapwood.append_listed`. It takes each
column as one text, split at a separator, because an array parameter costs several times as much on
both sides. See `_joined`.

An update sets no `created`: by that the database tells programs of earlier versions, for which it
computes `working`, `folder` and `hour` from the facts.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import asyncpg
import msgspec

from sapwood.core.log_values import LogError, Receipt, VersionConflict
from sapwood.store.postgres.agent_table import listed_columns, storable_name
from sapwood.store.postgres.commit_queue import CommitJob, EncodedAppend
from sapwood.store.postgres.connections import is_conflict, terminated_on_error
from sapwood.store.space_cipher import open_receipt

if TYPE_CHECKING:
    from asyncpg.prepared_stmt import PreparedStatement

    from sapwood.store.postgres.connections import Connection

    Statement = PreparedStatement[asyncpg.Record]


_AGENT_COLUMNS = (
    *("a_space", "a_agent", "a_expected", "a_version", "a_facts"),
    *("a_name", "a_parent", "a_status", "a_created", "a_working", "a_folder", "a_hour"),
)
_RECEIPT_COLUMNS = ("r_space", "r_command", "r_data")
_CONTENT_COLUMNS = ("c_space", "c_hash", "c_data")
_EVENT_COLUMNS = (
    *("e_space", "e_agent", "e_version", "e_kind", "e_data"),
    *("e_contents", "e_at", "e_actor", "e_command"),
)
_PARAMETERS = (
    *("mark", *_AGENT_COLUMNS, *_RECEIPT_COLUMNS),
    *(*_CONTENT_COLUMNS, *_EVENT_COLUMNS),
)
"""The parameters of the function `sapwood.append_listed`, in their order."""

_SEPARATORS = [chr(code) for code in (0x1F, 0x1E, 0x1D, 0x1C, *range(1, 0x1C))]
_FREE_TEXT = (
    *("a_space", "a_agent", "a_name", "a_parent", "r_space", "r_command"),
    *("e_space", "e_agent", "e_actor", "e_command"),
)
"""The columns that may contain a control character. JSON, numbers and kinds never do."""

_APPEND = (
    f"SELECT sapwood.append_listed({', '.join(f'${n}' for n in range(1, len(_PARAMETERS) + 1))})"
)
_APPEND_AND_END = (
    f"{_APPEND}, sapwood.end_words({', '.join(f'${len(_PARAMETERS) + n}' for n in (1, 2, 3))})"
)
_RECEIPT = "SELECT data FROM sapwood.receipts WHERE space = $1 AND command = ANY($2) LIMIT 1"
_KNOWN = "SELECT agent, version, created FROM sapwood.agents WHERE space = $1 AND agent = ANY($2)"
_TURN = """
    WITH grown AS (
        UPDATE sapwood.agents
        SET version = $4, facts = $5, name = $6, parent = $7, status = $8,
            working = $9, folder = $10, hour = $11
        WHERE space = $1 AND agent = $2 AND version = $3
            AND ($15::bigint = 0 OR created IN (0, $15))
        RETURNING version
    ), receipt AS (
        INSERT INTO sapwood.receipts (space, command, data) SELECT $1, $12, $13 FROM grown
    ), event AS (
        INSERT INTO sapwood.events (space, agent, version, kind, data, at, actor, command)
        SELECT $1, $2, $3::bigint + event.place, event.kind, event.data, event.at, $14, $12
        FROM grown, (VALUES {rows}) AS event (place, kind, data, at)
    ){ended}
    SELECT version FROM grown
"""
_ENDED = (
    ", words AS (DELETE FROM sapwood.live_words"
    " WHERE space = $1 AND agent = $2 AND EXISTS (SELECT FROM grown))"
)
_TURN_FIRST_ROW = "(1, $16::text, $17::text, $18::bigint)"
_MAX_TURN_EVENTS = 32

_receipt = msgspec.json.Decoder(Receipt)


class Appender:
    """A connection with the prepared statements that append."""

    def __init__(self, connection: "Connection", append: "Statement") -> None:
        self.connection = connection
        self._append = append
        self._append_and_end: Statement | None = None
        self._turns: dict[tuple[int, bool], Statement] = {}

    @classmethod
    async def prepare(cls, connection: "Connection") -> "Appender":
        """Prepares the statements on a connection; terminates it if that fails."""
        with terminated_on_error(connection):
            return cls(connection, await connection.prepare(_APPEND))

    async def append(self, jobs: Sequence[CommitJob]) -> bool:
        """Stores all jobs and returns True, or stores none and returns False.

        False means that at least one job conflicts with the log; see `diagnose`.
        """
        try:
            if len(jobs) == 1 and _is_turn(jobs[0]):
                return await self._append_turn(jobs[0])
            if any(append.ends_words for job in jobs for append in job.commit.appends):
                await self._append_ending(jobs)
            else:
                await self._append.fetch(*_append_arguments(jobs))
        except asyncpg.PostgresError as error:
            if is_conflict(error):
                return False
            raise
        return True

    @staticmethod
    async def append_within(connection: "Connection", job: CommitJob) -> None:
        """Stores a job within a transaction of the caller. Raises `VersionConflict`."""
        try:
            await connection.fetch(_APPEND, *_append_arguments([job]))
        except asyncpg.PostgresError as error:
            if is_conflict(error):
                first = job.commit.appends[0]
                raise VersionConflict(first.agent, first.expected) from error
            raise

    async def _append_ending(self, jobs: Sequence[CommitJob]) -> None:
        """Appends jobs of which some end the words of a reply."""
        if self._append_and_end is None:
            self._append_and_end = await self.connection.prepare(_APPEND_AND_END)
        ending = [
            (job.space, append)
            for job in jobs
            for append in job.commit.appends
            if append.ends_words
        ]
        ending.sort(key=lambda each: (each[0], each[1].agent))
        columns = (
            [space for space, _ in ending],
            [append.agent for _, append in ending],
            [append.words for _, append in ending],
        )
        await self._append_and_end.fetch(*_append_arguments(jobs), *columns)

    async def _append_turn(self, job: CommitJob) -> bool:
        size, ends = len(job.appends[0].events), job.commit.appends[0].ends_words
        statement = self._turns.get((size, ends))
        if statement is None:
            statement = await self.connection.prepare(_turn_statement(size, ends))
            self._turns[size, ends] = statement
        return bool(await statement.fetch(*_turn_arguments(job)))

    async def diagnose(self, job: CommitJob) -> Receipt | VersionConflict | None:
        """Why a job was refused: the receipt of its command, or the agent that has a new version.

        None if the log has no conflict with the job any more.
        """
        commands = [command for command, _ in job.receipts]
        stored = await self.connection.fetchval(_RECEIPT, job.space, commands)
        if stored is not None:
            return open_receipt(job.cipher, _receipt.decode(stored))
        rows = await self.connection.fetch(
            _KNOWN, job.space, [append.agent for append in job.commit.appends]
        )
        known = {row["agent"]: (row["version"], row["created"]) for row in rows}
        for append in job.commit.appends:
            is_ended = append.ends_words and append.words is not None  # then more words have come
            version, created = known.get(append.agent, (0, 0))
            is_other = append.expected > 0 and 0 < append.summary.created != created > 0
            if is_ended or is_other or version != append.expected:
                return VersionConflict(append.agent, append.expected)
        return None


def _is_turn(job: CommitJob) -> bool:
    """Whether a job can be stored with the statement for a turn."""
    if len(job.appends) != 1 or len(job.receipts) != 1:
        return False
    (encoded,) = job.appends
    if encoded.append.words is not None:
        return False  # the words that it ends are compared
    recorded, command = encoded.append.events, job.commit.receipt.command
    if not encoded.append.expected or not 0 < len(recorded) <= _MAX_TURN_EVENTS:
        return False
    actor = recorded[0].actor
    for each in recorded:
        if not (each.actor is actor or each.actor == actor) or each.command != command:
            return False
    return not any(each.contents for each in encoded.events)


def _turn_statement(events: int, ends_words: bool) -> str:
    """The statement for a turn with this number of events."""
    later = (f"({n + 1}, ${16 + 3 * n}, ${17 + 3 * n}, ${18 + 3 * n})" for n in range(1, events))
    rows = ", ".join((_TURN_FIRST_ROW, *later))
    return _TURN.format(rows=rows, ended=_ENDED if ends_words else "")


def _turn_arguments(job: CommitJob) -> list[object]:
    (encoded,) = job.appends
    append, summary = encoded.append, encoded.summary
    values: list[object] = [
        *(job.space, append.agent, append.expected, summary.version, encoded.summary_json),
        *(storable_name(summary.name), summary.parent, summary.status),
        *listed_columns(summary),
        *(*job.receipts[0], str(append.events[0].actor), summary.created),
    ]
    for recorded, event in zip(append.events, encoded.events, strict=True):
        values += (event.kind, event.data, recorded.at)
    return values


def _append_arguments(jobs: Sequence[CommitJob]) -> list[object]:
    """The arguments of `sapwood.append_listed`. Rows are sorted, so writers cannot deadlock."""
    agents = sorted(
        (_agent_row(job, encoded) for job in jobs for encoded in job.appends),
        key=lambda row: row[:2],
    )
    receipts = sorted((job.space, *receipt) for job in jobs for receipt in job.receipts)
    contents = {(job.space, digest): text for job in jobs for digest, text in job.contents.items()}
    keys = sorted(contents)
    separator, joined = _joined(
        {
            **_columns(_AGENT_COLUMNS, agents),
            **_columns(_RECEIPT_COLUMNS, receipts),
            **_event_columns(jobs),
        }
    )
    arguments: dict[str, object] = {
        "mark": separator,
        **joined,
        "c_space": [space for space, _ in keys] or None,
        "c_hash": [digest for _, digest in keys] or None,
        "c_data": [contents[key] for key in keys] or None,
    }
    return [arguments[name] for name in _PARAMETERS]


def _agent_row(job: CommitJob, encoded: EncodedAppend) -> tuple[str, ...]:
    append, summary = encoded.append, encoded.summary
    working, folder, hour = listed_columns(summary)
    return (
        *(job.space, append.agent, str(append.expected), str(summary.version)),
        *(encoded.summary_json, storable_name(summary.name), summary.parent or "", summary.status),
        *(str(summary.created), "true" if working else "false", folder or ""),
        "" if hour is None else str(hour),
    )


def _columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Sequence[str]]:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, columns, strict=True))


def _event_columns(jobs: Sequence[CommitJob]) -> dict[str, Sequence[str]]:
    appends = [each for job in jobs for each in job.appends]
    recorded = [event for each in appends for event in each.append.events]
    encoded = [event for each in appends for event in each.events]
    return {
        "e_space": [job.space for job in jobs for each in job.appends for _ in each.events],
        "e_agent": [each.agent for each in recorded],
        "e_version": [str(each.version) for each in recorded],
        "e_kind": [each.kind for each in encoded],
        "e_data": [each.data for each in encoded],
        "e_contents": ["".join(each.contents) for each in encoded],
        "e_at": [str(each.at) for each in recorded],
        "e_actor": [str(each.actor) for each in recorded],
        "e_command": [each.command for each in recorded],
    }


def _joined(columns: Mapping[str, Sequence[str]]) -> tuple[str, dict[str, str | None]]:
    """Joins each column into one text; returns the separator and the texts.

    The separator is the first control character that no value contains.
    """
    for separator in _SEPARATORS:
        joined = {
            name: separator.join(values) if values else None for name, values in columns.items()
        }
        if all(_is_separated(joined[name], columns[name], separator) for name in _FREE_TEXT):
            return separator, joined
    raise LogError(
        "The ids contain every control character, so none is left as a separator. Nothing was "
        "stored. Choose other ids."
    )


def _is_separated(joined: str | None, values: Sequence[str], separator: str) -> bool:
    return joined is None or joined.count(separator) == len(values) - 1
