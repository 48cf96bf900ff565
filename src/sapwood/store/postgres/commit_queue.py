"""Commits that wait for the database, and which of them may be stored at the same time.

Two commits that share an agent or a command are stored one after the other. `KeyedQueue` has one
queue for each agent and each command. A job enters all its queues at the same moment, so jobs
cannot wait for each other in a circle, and is ready when it is first in all of them.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

import msgspec

from sapwood.core.events.codec import Encoded
from sapwood.core.ids import CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt
from sapwood.store.space_cipher import (
    SpaceCipher,
    encode_event,
    seal_content,
    seal_receipt,
    seal_summary,
)

JobKey = tuple[str, Space, str]
"""An agent or a command. Two jobs with a common key are never stored at the same time."""

_MIN_JOBS, _MAX_JOBS, _MAX_BYTES = 4, 256, 4_000_000
_ROW_BYTES = 500
_json = msgspec.json.Encoder()


@dataclass(slots=True, eq=False)
class EncodedAppend:
    """One append with its summary and events encoded. `summary` is as it is stored."""

    append: Append
    summary: AgentSummary
    summary_json: str
    events: list[Encoded]


@dataclass(slots=True, eq=False)
class CommitJob:
    """One encoded commit. The database's answer is set on the future `done`.

    `ended` is set when the database is done with it, also if its caller stopped waiting.
    """

    space: Space
    commit: Commit
    receipts: list[tuple[CommandId, str]]
    appends: list[EncodedAppend]
    keys: set[JobKey]
    deadline: float
    done: "asyncio.Future[Receipt | None]"
    cipher: SpaceCipher | None = None
    blocked: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def weight(self) -> int:
        """About how many bytes the database has to write."""
        events = [each for append in self.appends for each in append.events]
        texts = [text for each in events if each.contents for text in each.contents.values()]
        return sum([_ROW_BYTES + len(each.data) for each in events]) + sum(map(len, texts))

    @property
    def contents(self) -> dict[bytes, bytes]:
        """The long texts by their hash."""
        return {
            bytes.fromhex(digest): seal_content(self.cipher, digest, text)
            for append in self.appends
            for each in append.events
            if each.contents
            for digest, text in each.contents.items()
        }


def job_of(
    space: Space, commit: Commit, deadline: float, cipher: SpaceCipher | None = None
) -> CommitJob:
    """Encodes a commit."""
    summaries = [seal_summary(cipher, append.summary) for append in commit.appends]
    appends = [
        EncodedAppend(
            append,
            summary,
            _json.encode(summary).decode(),
            [encode_event(cipher, recorded) for recorded in append.events],
        )
        for append, summary in zip(commit.appends, summaries, strict=True)
    ]
    keys: set[JobKey] = {("agent", space, append.agent) for append in commit.appends}
    keys |= {("command", space, receipt.command) for receipt in commit.receipts}
    sealed = [seal_receipt(cipher, each) for each in commit.receipts]
    receipts = [(each.command, _json.encode(each).decode()) for each in sealed]
    done = asyncio.get_running_loop().create_future()
    return CommitJob(space, commit, receipts, appends, keys, deadline, done, cipher)


class KeyedQueue:
    """Jobs in the order of their arrival; `ready` has those that may be stored now."""

    def __init__(self, writers: int) -> None:
        self.ready: deque[CommitJob] = deque()
        self._queues: dict[JobKey, deque[CommitJob]] = {}
        self._writers = writers
        self._size = 0

    def add(self, job: CommitJob) -> None:
        """Adds a job. It is ready at once if no earlier job has one of its keys."""
        self._size += 1
        for key in job.keys:
            queue = self._queues.get(key)
            if queue is None:
                self._queues[key] = deque((job,))
            else:
                queue.append(job)
                job.blocked += 1
        if not job.blocked:
            self.ready.append(job)

    def remove(self, job: CommitJob) -> None:
        """Removes a finished job. Jobs that waited for it may become ready."""
        self._size -= 1
        job.ended.set()
        for key in job.keys:
            queue = self._queues[key]
            queue.popleft()
            if not queue:
                del self._queues[key]
            else:
                queue[0].blocked -= 1
                if not queue[0].blocked:
                    self.ready.append(queue[0])

    def last(self, key: JobKey) -> CommitJob | None:
        """The newest job with this key that has not ended."""
        queue = self._queues.get(key)
        return queue[-1] if queue else None

    def next_batch(self) -> list[CommitJob]:
        """Takes the next batch from `ready`: one writer's share of all jobs, but limited in size.

        With equal shares, one batch is encoded while the database stores another.
        """
        if len(self.ready) == 1:
            return [self.ready.popleft()]
        share = max(_MIN_JOBS, -(-self._size // self._writers))
        batch: list[CommitJob] = []
        weight = 0
        while self.ready and len(batch) < min(share, _MAX_JOBS):
            weight += self.ready[0].weight
            if batch and weight > _MAX_BYTES:
                break
            batch.append(self.ready.popleft())
        return batch
