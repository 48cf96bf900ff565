"""A commit on its way to the database: encoded, and waiting for its end."""

import asyncio
from dataclasses import dataclass

import msgspec

from sapwood.core.events.codec import Encoded, encode
from sapwood.core.ids import CommandId, Space
from sapwood.core.log import Append, Commit, Receipt

__all__ = ["Job", "Key", "Stream", "job_of", "plain_name"]

Key = tuple[str, Space, str]
"""What two jobs under way at once must not share: an agent or a command."""

_ROW = 500
_json = msgspec.json.Encoder()


@dataclass(slots=True, eq=False)
class Stream:
    """One append with its facts and events encoded."""

    append: Append
    facts: str
    events: list[Encoded]


@dataclass(slots=True, eq=False)
class Job:
    """One commit; `done` is settled when the database has answered."""

    space: Space
    commit: Commit
    receipts: list[tuple[CommandId, str]]
    streams: list[Stream]
    keys: set[Key]
    deadline: float
    done: "asyncio.Future[Receipt | None]"
    blocked: int = 0

    @property
    def weight(self) -> int:
        """About how many bytes the database will write."""
        events = [each for stream in self.streams for each in stream.events]
        texts = [text for each in events if each.contents for text in each.contents.values()]
        return sum([_ROW + len(each.data) for each in events]) + sum(map(len, texts))

    @property
    def contents(self) -> dict[bytes, bytes]:
        """The long texts by their hash."""
        return {
            bytes.fromhex(digest): text.encode()
            for stream in self.streams
            for each in stream.events
            if each.contents
            for digest, text in each.contents.items()
        }


def job_of(space: Space, commit: Commit, deadline: float) -> Job:
    """The commit, encoded."""
    streams = [
        Stream(
            append,
            _json.encode(append.facts).decode(),
            [encode(recorded.event) for recorded in append.events],
        )
        for append in commit.appends
    ]
    keys: set[Key] = {("agent", space, append.agent) for append in commit.appends}
    keys |= {("command", space, receipt.command) for receipt in commit.receipts}
    receipts = [(each.command, _json.encode(each).decode()) for each in commit.receipts]
    done = asyncio.get_running_loop().create_future()
    return Job(space, commit, receipts, streams, keys, deadline, done)


def plain_name(name: str) -> str:
    """A name as its column takes it: the one character that PostgreSQL cannot store is replaced."""
    return name.replace("\0", "\ufffd")
