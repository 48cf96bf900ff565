"""A commit on its way to the database: encoded, and waiting for its end."""

import asyncio
from dataclasses import dataclass, field

import msgspec

from sapwood.core.events.codec import encode
from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Append, Commit, Receipt

__all__ = ["AgentRow", "EventRow", "Job", "Key", "encode_commit", "plain_name"]

AgentRow = tuple[str, str, str, str, str, str, str, str, str]
"""Space, agent, expected, version, facts, name, parent, status, created."""
EventRow = tuple[str, str, str, str, str, str, str, str, str]
"""Space, agent, version, kind, data, contents, at, actor, command."""
Key = tuple[str, Space, str]
"""What two jobs under way at once must not share: an agent or a command."""

_json = msgspec.json.Encoder()


@dataclass(slots=True, eq=False)
class Job:
    """One commit, as rows; `done` is settled when the database has answered."""

    space: Space
    commit: Commit
    agents: list[AgentRow]
    events: list[EventRow]
    receipt: str
    contents: dict[bytes, bytes]
    size: int
    keys: frozenset[Key]
    deadline: float
    done: "asyncio.Future[Receipt | None]"
    blocked: int = field(default=0)

    @property
    def touched(self) -> list[AgentId]:
        """The agents whose logs grow."""
        return [append.agent for append in self.commit.appends]


def encode_commit(space: Space, commit: Commit, deadline: float) -> Job:
    """The rows of a commit."""
    contents: dict[bytes, bytes] = {}
    agents = [_agent_row(space, append) for append in commit.appends]
    events = [row for append in commit.appends for row in _event_rows(space, append, contents)]
    keys: set[Key] = {("agent", space, append.agent) for append in commit.appends}
    keys.add(("command", space, commit.receipt.command))
    return Job(
        space,
        commit,
        agents,
        events,
        _json.encode(commit.receipt).decode(),
        contents,
        sum(len(row[4]) for row in events) + sum(map(len, contents.values())),
        frozenset(keys),
        deadline,
        asyncio.get_running_loop().create_future(),
    )


def plain_name(name: str) -> str:
    """A name as its column takes it: the one character that PostgreSQL cannot store is replaced."""
    return name.replace("\0", "\ufffd")


def _agent_row(space: Space, append: Append) -> AgentRow:
    facts = append.facts
    return (
        space,
        append.agent,
        str(append.expected),
        str(facts.version),
        _json.encode(facts).decode(),
        plain_name(facts.name),
        facts.parent or "",
        facts.status,
        str(facts.created),
    )


def _event_rows(space: Space, append: Append, contents: dict[bytes, bytes]) -> list[EventRow]:
    rows: list[EventRow] = []
    for recorded in append.events:
        encoded = encode(recorded.event)
        hashes = ""
        if encoded.contents:
            hashes = "".join(encoded.contents)
            for digest, text in encoded.contents.items():
                contents[bytes.fromhex(digest)] = text.encode()
        rows.append(
            (
                space,
                append.agent,
                str(recorded.version),
                encoded.kind,
                encoded.data,
                hashes,
                str(recorded.at),
                str(recorded.actor),
                recorded.command,
            )
        )
    return rows
