"""Statements that erase: what is planned, the deletion of an agent, the records, legal holds.

`erase_agent` runs in one transaction, and a row in `erasing_now` lets it pass the guards of the
log. Positions of events are never used again: if the newest event of the file is erased, a place
holder takes its position.

Removes erased data from the raw files: free pages, remains inside of pages, the WAL file.
"""

import sqlite3
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import Connection

import msgspec

from sapwood.core.erasure import (
    ERASED,
    MAX_TURN,
    OUTSIDE_KINDS,
    Erasure,
    ErasureItem,
    ErasureReach,
    Hold,
    OutsideData,
    Senders,
    UnfinishedErasure,
    quoted_turns,
    text_without_agent,
    turn_has_mail,
    without_agent,
)
from sapwood.core.erasure import outside_data as find_outside_data
from sapwood.core.events import SYSTEM, ContextLoaded, MailSent, Recorded, WordsErased
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.log_values import LogError, Receipt, VersionConflict
from sapwood.store.space_cipher import (
    encode_event,
    open_outside,
    open_receipt,
    seal_content,
    seal_outside,
    seal_receipt,
)
from sapwood.store.sqlite.agent_table import descendants
from sapwood.store.sqlite.commit_rows import CommitRows, store
from sapwood.store.sqlite.connections import BUSY_SECONDS, connect, translated_errors
from sapwood.store.sqlite.cursor_places import count_all
from sapwood.store.sqlite.event_table import ROW, Row, last_position, read_part, recorded_of
from sapwood.store.sqlite.key_table import cipher_of, is_closed

_ERASURE = "id, at, by, scope, agents, events, contents, rewritten, finished"
_HOLD = "id, at, by, scope, subject, reason, released, released_by"
_PLACE_HOLDER = "sapwood:erased"
_TABLES_OF_SPACE = (
    *("receipts", "contents", "snapshots", "gaps", "word_rebuilds", "space_keys"),
    *("cursor_places", "event_counts", "live_words", "meanings"),
)
"""The space and agent of the place holder; its kind is one that every version can read."""

_refs = msgspec.json.Decoder(tuple[EventRef, ...])


def begin_erasure(
    connection: Connection, space: Space, erasure: Erasure, agents: Sequence[AgentId]
) -> None:
    """Stores the record of an erasure and the agents that it is about."""
    connection.execute(
        "INSERT INTO erasures (id, space, at, by, scope) VALUES (?, ?, ?, ?, ?)",
        (erasure.id, space, erasure.at, erasure.by, erasure.scope),
    )
    connection.executemany(
        "INSERT INTO erasing (erasure, space, agent) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(erasure.id, space, agent) for agent in agents],
    )


def list_unfinished(connection: Connection) -> list[UnfinishedErasure]:
    """The unfinished erasures of all spaces whose key this program has, with their agents."""
    rows = connection.execute(
        f"SELECT space, {_ERASURE} FROM erasures WHERE finished = 0 ORDER BY at, id"
    ).fetchall()
    return [
        UnfinishedErasure(Space(row[0]), Erasure(*row[1:]), _items(connection, row[0], row[1]))
        for row in rows
        if not is_closed(connection, row[0])
    ]


def _items(connection: Connection, space: Space, erasure: str) -> tuple[ErasureItem, ...]:
    cipher = cipher_of(connection, space)
    rows = connection.execute(
        "SELECT agent, deleted, outside FROM erasing WHERE erasure = ? ORDER BY agent", (erasure,)
    )
    return tuple(
        ErasureItem(AgentId(agent), bool(deleted), open_outside(cipher, agent, outside))
        for agent, deleted, outside in rows
    )


def erase_agent(
    connection: Connection,
    space: Space,
    erasure: str,
    agent: AgentId,
    archived: Senders,
) -> frozenset[AgentId]:
    """Deletes everything of an agent, and plans the erasure of its children.

    Replaces its mail and quotations in the logs of others, and those of the agents of whose archive
    it is the stub, and returns these others. Does nothing if the agent is not planned, or deleted
    already.
    """
    planned = connection.execute(
        "SELECT scope FROM erasing JOIN erasures ON id = erasure"
        " WHERE erasure = ? AND erasing.space = ? AND agent = ? AND NOT deleted",
        (erasure, space, agent),
    ).fetchone()
    if planned is None:
        return frozenset()
    with _guards_open(connection, erasure):
        outside = _outside_of(connection, space, agent)
        others = frozenset[AgentId]()
        if planned != ("archive",):
            for source in {agent, *archived}:
                receivers = archived.get(source, frozenset())
                others |= _rewrite_others(connection, space, erasure, source, receivers)
        _delete_agent(connection, space, erasure, agent, outside)
    return others


def _delete_agent(
    connection: Connection, space: Space, erasure: str, agent: AgentId, outside: OutsideData
) -> None:
    """Deletes everything of an agent, and plans the erasure of its children."""
    _plan_children(connection, space, erasure, agent)
    _erase_receipts(connection, space, agent)
    hashes = _hashes(connection, space, agent)
    events = _erase_events(connection, space, agent)
    for table in ("snapshots", "agents", "agent_keys", "live_words"):
        connection.execute(f"DELETE FROM {table} WHERE space = ? AND agent = ?", (space, agent))
    contents = _erase_contents(connection, space, hashes)
    connection.execute("UPDATE indexed SET erased = erased + 1")
    connection.execute(
        "UPDATE erasing SET deleted = 1, outside = ? WHERE erasure = ? AND space = ? AND agent = ?",
        (seal_outside(cipher_of(connection, space), agent, outside), erasure, space, agent),
    )
    connection.execute(
        "UPDATE erasures SET agents = agents + 1, events = events + ?,"
        " contents = contents + ? WHERE id = ?",
        (events, contents, erasure),
    )


def replace_agents(
    connection: Connection,
    space: Space,
    erasure: Erasure,
    expected: Mapping[AgentId, int],
    rows: CommitRows,
) -> None:
    """Deletes agents that are at these versions, and stores a commit in their place.

    Raises `VersionConflict` if something was added to one of them.
    """
    begin_erasure(connection, space, erasure, list(expected))
    for agent, version in expected.items():
        if not _is_at(connection, space, agent, version):
            raise VersionConflict(agent, version)
    with _guards_open(connection, erasure.id):
        for agent in expected:
            outside = OutsideData(restored=_outside_of(connection, space, agent).archives)
            _delete_agent(connection, space, erasure.id, agent, outside)
    new = connection.execute(
        "SELECT agent FROM erasing WHERE erasure = ? AND NOT deleted", (erasure.id,)
    ).fetchone()
    if new is not None:
        raise VersionConflict(AgentId(new[0]), 0)
    store(connection, rows)


def _is_at(connection: Connection, space: Space, agent: AgentId, version: int) -> bool:
    """Whether an agent has this version, and no reply that is arriving."""
    found = connection.execute(
        "SELECT 1 FROM agents WHERE space = ?1 AND agent = ?2 AND version = ?3 AND NOT EXISTS"
        " (SELECT 1 FROM live_words WHERE space = ?1 AND agent = ?2)",
        (space, agent, version),
    )
    return found.fetchone() is not None


def clear_space(connection: Connection, space: Space, erasure: str) -> None:
    """Deletes what a space has beside its agents: receipts, long texts, the places of gaps."""
    with _guards_open(connection, erasure):
        if connection.execute("SELECT 1 FROM events WHERE space = ?", (space,)).fetchone():
            return  # somebody has begun anew in this space
        for table in _TABLES_OF_SPACE:
            connection.execute(f"DELETE FROM {table} WHERE space = ?", (space,))
        row = connection.execute("SELECT number FROM spaces WHERE space = ?", (space,)).fetchone()
        if row is not None:
            connection.execute(f"DROP TABLE words_{row[0]}")
            connection.execute("DELETE FROM spaces WHERE space = ?", (space,))


def forget_agents(connection: Connection, erasure: str) -> None:
    """Deletes the ids of what was erased."""
    connection.execute("DELETE FROM erasing WHERE erasure = ?", (erasure,))


def finish_erasure(connection: Connection, erasure: str, at: int) -> None:
    """Completes the record."""
    connection.execute("UPDATE erasures SET finished = ? WHERE id = ?", (at, erasure))


def list_erasures(connection: Connection, space: Space) -> list[Erasure]:
    """The records of a space, newest first."""
    rows = connection.execute(
        f"SELECT {_ERASURE} FROM erasures WHERE space = ? ORDER BY at DESC, id", (space,)
    )
    return [Erasure(*row) for row in rows]


def insert_hold(connection: Connection, space: Space, hold: Hold) -> None:
    """Stores a legal hold."""
    connection.execute(
        "INSERT INTO holds (id, space, at, by, scope, subject, reason)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (hold.id, space, hold.at, hold.by, hold.scope, hold.subject, hold.reason),
    )


def release_hold(connection: Connection, space: Space, hold: str, by: str, at: int) -> bool:
    """Releases a hold; returns false if there is none in force with this id."""
    released = connection.execute(
        "UPDATE holds SET released = ?, released_by = ?"
        " WHERE space = ? AND id = ? AND released = 0",
        (at, by, space, hold),
    )
    return released.rowcount == 1


def list_holds(connection: Connection, space: Space) -> list[Hold]:
    """The holds of a space, newest first; released ones too."""
    rows = connection.execute(
        f"SELECT {_HOLD} FROM holds WHERE space = ? ORDER BY at DESC, id", (space,)
    )
    return [Hold(*row) for row in rows]


@contextmanager
def _guards_open(connection: Connection, erasure: str) -> Generator[None]:
    connection.execute("INSERT INTO erasing_now (erasure) VALUES (?)", (erasure,))
    yield
    connection.execute("DELETE FROM erasing_now")


def _plan_children(connection: Connection, space: Space, erasure: str, agent: AgentId) -> None:
    connection.execute(
        "INSERT INTO erasing (erasure, space, agent)"
        " SELECT ?, space, agent FROM agents WHERE space = ? AND parent = ?"
        " ON CONFLICT DO NOTHING",
        (erasure, space, agent),
    )


def _outside_of(connection: Connection, space: Space, agent: AgentId) -> OutsideData:
    rows = _rows(connection, space, agent, OUTSIDE_KINDS)
    return find_outside_data(recorded_of(connection, space, rows))


def _rows(connection: Connection, space: Space, agent: AgentId, kinds: Iterable[str]) -> list[Row]:
    return connection.execute(
        f"SELECT {ROW} FROM events WHERE space = ? AND agent = ?"
        " AND kind IN (SELECT value FROM json_each(?)) ORDER BY version",
        (space, agent, msgspec.json.encode(list(kinds)).decode()),
    ).fetchall()


def _rewrite_others(
    connection: Connection,
    space: Space,
    erasure: str,
    agent: AgentId,
    receivers: frozenset[AgentId],
) -> frozenset[AgentId]:
    """Replaces what the agent said in the logs of others: mail, and quoted turns.

    Tells it to the agents whose logs have changed and to their descendants, by an event, and
    returns them.
    """
    reach = _reach(connection, space, agent, receivers)
    going = _going(connection, space, agent)
    changed = [
        other
        for other in sorted(reach - going)
        if _rewrite(connection, space, erasure, agent, other, reach)
    ]
    told = {each for other in changed for each in (other, *descendants(connection, space, other))}
    for other in sorted(told - going):
        _tell(connection, space, erasure, agent, other)
    for other in changed:
        connection.execute("DELETE FROM snapshots WHERE space = ? AND agent = ?", (space, other))
    return frozenset(told)


def _going(connection: Connection, space: Space, agent: AgentId) -> set[AgentId]:
    """The agents that will be erased too."""
    planned = connection.execute(
        "SELECT agent FROM erasing WHERE space = ? AND NOT deleted", (space,)
    )
    return {AgentId(row[0]) for row in planned} | {agent, *descendants(connection, space, agent)}


def _reach(
    connection: Connection, space: Space, agent: AgentId, known: frozenset[AgentId]
) -> set[AgentId]:
    """The agents whose logs may have words of this one. `known` are receivers of its mail."""
    reach = ErasureReach(agent, _quotations(connection, space))
    new = reach.begin({*known, *_receivers(connection, space, agent)})
    while new:
        children = connection.execute(
            "SELECT agent FROM agents WHERE space = ?"
            " AND parent IN (SELECT value FROM json_each(?))",
            (space, msgspec.json.encode(list(new)).decode()),
        )
        new = reach.add(AgentId(child) for (child,) in children)
    return reach.agents


def _receivers(connection: Connection, space: Space, agent: AgentId) -> Iterable[AgentId]:
    """To whom the agent sent mail."""
    if cipher_of(connection, space) is None:
        rows = connection.execute(
            "SELECT DISTINCT json_extract(data, '$.to') FROM events"
            " WHERE space = ? AND agent = ? AND kind = 'mail.sent'",
            (space, agent),
        )
        return [AgentId(receiver) for (receiver,) in rows]
    events = recorded_of(connection, space, _rows(connection, space, agent, [MailSent.kind]))
    return [each.event.to for each in events if isinstance(each.event, MailSent)]


def _quotations(connection: Connection, space: Space) -> Iterable[tuple[AgentId, AgentId]]:
    """The agents that quote others, each with the one that it quotes."""
    if cipher_of(connection, space) is None:
        return connection.execute(
            "SELECT DISTINCT agent, json_extract(data, '$.source[0]') FROM events"
            " WHERE space = ? AND kind = 'context.loaded'",
            (space,),
        )
    rows = connection.execute(
        f"SELECT {ROW} FROM events WHERE space = ? AND kind = 'context.loaded'", (space,)
    ).fetchall()
    events = recorded_of(connection, space, rows)
    return [
        (each.agent, each.event.source.agent)
        for each in events
        if isinstance(each.event, ContextLoaded)
    ]


def _tell(
    connection: Connection, space: Space, erasure: str, agent: AgentId, other: AgentId
) -> None:
    """Appends the event by which every process notices that its memory of `other` is outdated."""
    grown = connection.execute(
        "UPDATE agents SET version = version + 1 WHERE space = ? AND agent = ? RETURNING version",
        (space, other),
    ).fetchone()
    if grown is None:
        return
    (at,) = connection.execute("SELECT at FROM erasures WHERE id = ?", (erasure,)).fetchone()
    command = CommandId(f"erasure-{erasure}")
    recorded = Recorded(other, grown[0], WordsErased(agent), at, SYSTEM, command)
    event = encode_event(cipher_of(connection, space), recorded)
    connection.execute(
        "INSERT INTO events (space, agent, version, kind, data, at, actor, command)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (space, other, grown[0], event.kind, event.data, at, str(SYSTEM), command),
    )


def _rewrite(
    connection: Connection,
    space: Space,
    erasure: str,
    agent: AgentId,
    other: AgentId,
    reach: set[AgentId],
) -> int:
    """Replaces what the agent said in the log of another one. Returns the number of events."""
    rows = connection.execute(
        f"SELECT {ROW} FROM events WHERE space = ? AND agent = ? ORDER BY version", (space, other)
    ).fetchall()
    cipher = cipher_of(connection, space)
    events = recorded_of(connection, space, rows)
    quoted = {
        turn
        for turn in quoted_turns(events)
        if turn.agent in reach and turn_has_mail(_events_from(connection, space, turn), agent)
    }
    changed, released, commands = 0, set[str](), set[CommandId]()
    for row, recorded in zip(rows, events, strict=True):
        event = without_agent(recorded.event, agent, quoted)
        if event is None:
            continue
        encoded = encode_event(cipher, msgspec.structs.replace(recorded, event=event))
        for digest, text in encoded.contents.items():
            connection.execute(
                "INSERT INTO contents SELECT ?1, ?2, ?3 WHERE NOT EXISTS"
                " (SELECT 1 FROM contents WHERE space = ?1 AND hash = ?2)",
                (space, digest, seal_content(cipher, digest, text)),
            )
        connection.execute(
            "UPDATE events SET data = ?, contents = ? WHERE position = ?",
            (encoded.data, " ".join(encoded.contents) or None, row[0]),
        )
        released.update((row[6] or "").split())
        commands.add(recorded.command)
        changed += 1
    _erase_contents(connection, space, released)
    _rewrite_receipts(connection, space, agent, other)
    connection.executemany(
        "UPDATE receipts SET digest = '' WHERE space = ? AND command = ?",
        [(space, command) for command in commands],
    )
    connection.execute(
        "UPDATE erasures SET rewritten = rewritten + ? WHERE id = ?", (changed, erasure)
    )
    return changed


def _events_from(connection: Connection, space: Space, place: EventRef) -> Iterable[Recorded]:
    return read_part(connection, space, place.agent, place.version, limit=MAX_TURN)


def _rewrite_receipts(connection: Connection, space: Space, agent: AgentId, other: str) -> None:
    """Replaces mail of the agent in the answers to commands of another one."""
    cipher = cipher_of(connection, space)
    rows = connection.execute(
        "SELECT command, says FROM receipts WHERE space = ?1 AND instr(says, ?2) AND command IN"
        " (SELECT command FROM events WHERE space = ?1 AND agent = ?3)",
        (space, agent if cipher is None else "", other),
    ).fetchall()
    for command, says in rows:
        receipt = open_receipt(cipher, Receipt(CommandId(command), says))
        message = text_without_agent(receipt.message, agent)
        if message != receipt.message:
            changed = seal_receipt(cipher, Receipt(CommandId(command), message))
            connection.execute(
                "UPDATE receipts SET says = ? WHERE space = ? AND command = ?",
                (changed.message, space, command),
            )


def _erase_receipts(connection: Connection, space: Space, agent: AgentId) -> None:
    """Deletes the answers to the agent's commands. Those that others share keep their place."""
    rows = connection.execute(
        "SELECT command, events FROM receipts WHERE space = ?1 AND command IN"
        " (SELECT command FROM events WHERE space = ?1 AND agent = ?2)",
        (space, agent),
    ).fetchall()
    for command, events in rows:
        left = [ref for ref in _refs.decode(events) if ref.agent != agent]
        if left:
            connection.execute(
                "UPDATE receipts SET says = ?, events = ?, digest = ''"
                " WHERE space = ? AND command = ?",
                (ERASED, msgspec.json.encode(left).decode(), space, command),
            )
        else:
            connection.execute(
                "DELETE FROM receipts WHERE space = ? AND command = ?", (space, command)
            )


def _hashes(connection: Connection, space: Space, agent: AgentId) -> set[str]:
    rows = connection.execute(
        "SELECT contents FROM events WHERE space = ? AND agent = ? AND contents IS NOT NULL",
        (space, agent),
    )
    return {digest for (column,) in rows for digest in column.split()}


def _erase_contents(connection: Connection, space: Space, hashes: set[str]) -> int:
    """Deletes those of the long texts that no event refers to any more."""
    if not hashes:
        return 0
    unused = set(hashes)
    rows = connection.execute(
        "SELECT contents FROM events WHERE space = ? AND contents IS NOT NULL", (space,)
    )
    for (column,) in rows:
        unused.difference_update(column.split())
    connection.executemany(
        "DELETE FROM contents WHERE space = ? AND hash = ?",
        [(space, digest) for digest in unused],
    )
    return len(unused)


def _erase_events(connection: Connection, space: Space, agent: AgentId) -> int:
    """Deletes the events, stores where they were, and keeps the newest position taken."""
    count_all(connection)  # cursors count erased events too
    positions = [
        position
        for (position,) in connection.execute(
            "SELECT position FROM events WHERE space = ? AND agent = ? ORDER BY position",
            (space, agent),
        )
    ]
    newest = last_position(connection)
    connection.execute("DELETE FROM events WHERE space = ? AND agent = ?", (space, agent))
    connection.executemany(
        "INSERT INTO gaps (space, position) VALUES (?, ?)",
        [(space, position) for position in positions],
    )
    if positions and positions[-1] == newest:
        _hold_position(connection, newest)
    return len(positions)


def _hold_position(connection: Connection, position: int) -> None:
    connection.execute("DELETE FROM events WHERE space = ?", (_PLACE_HOLDER,))
    connection.execute(
        "INSERT INTO events (position, space, agent, version, kind, data, at, actor, command)"
        " VALUES (?, ?, ?, 1, 'agent.unarchived', '{}', 0, 'system', ?)",
        (position, _PLACE_HOLDER, _PLACE_HOLDER, _PLACE_HOLDER),
    )


_PAUSE_SECONDS = 0.02


def scrub(path: Path, patience: float = BUSY_SECONDS) -> None:
    """Writes the whole database file again without what was deleted, and empties the WAL file.

    Other processes can read meanwhile, and wait to write. Takes time in proportion to the size of
    the file. Raises `LogError` if a reader in another process keeps the WAL file from being emptied
    for `patience` seconds; the erased data may be in that file then.
    """
    with translated_errors(path), closing(connect(path)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        until = time.monotonic() + patience
        while not _is_emptied(connection):
            if time.monotonic() > until:
                raise LogError(
                    f"Another process is reading '{path}', so '{path}-wal' could not be emptied. "
                    "The data is erased, but that file may still contain it. Stop that process; "
                    "the next start of Sapwood empties the file."
                )
            time.sleep(_PAUSE_SECONDS)


def _is_emptied(connection: Connection) -> bool:
    try:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    return not busy
