"""Statements about the words of replies that are still arriving.

Each reply stores its words several times a second. Words that arrive while others are being stored,
and for a moment after that, are stored together in one statement. Those who watch are notified
together, and read together.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sapwood.core.errors import LogUnavailable, SpaceStopped
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
from sapwood.store.postgres.connections import ReaderPool
from sapwood.store.space_cipher import SpaceCipher, open_live_words, seal_live_words

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Row

# The lock waits for a commit that ends the reply, and lets such a commit wait.
_FIRST = """
    INSERT INTO sapwood.live_words AS known (space, agent, asked, command, data)
    SELECT $1, $2, $3, $4, $5 FROM sapwood.agents
    WHERE space = $1 AND agent = $2 AND version = $6 FOR SHARE
    ON CONFLICT (space, agent) DO UPDATE
    SET asked = excluded.asked, command = excluded.command, data = excluded.data
    WHERE known.asked < excluded.asked
    RETURNING true
"""
# A connection for reading plans each statement anew, also those of the trigger on each row, which
# takes longer than the update. So the plans of this transaction are kept.
_NEXT = """
    UPDATE sapwood.live_words AS known SET command = more.command, data = more.data
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[])
            AS more (space, agent, asked, command, data, before),
        (SELECT set_config('plan_cache_mode', 'force_generic_plan', true)) AS plans
    WHERE known.space = more.space AND known.agent = more.agent
        AND known.asked = more.asked AND known.command = more.before
    RETURNING known.space, known.command
"""
_FIND = """
    SELECT agent, asked, command, data FROM sapwood.live_words WHERE space = $1 AND agent = ANY($2)
"""

_PAUSE = 0.05
"""Seconds after a statement in which words wait for the next one."""
_MAX_ROWS = 256


@dataclass(slots=True, eq=False)
class _WordsJob:
    """Words that replace others. Whether they did is set on the future `done`."""

    row: tuple[Space, AgentId, int, CommandId, str, CommandId]
    done: "asyncio.Future[bool]"


class LiveWordWriter:
    """Stores the words of all replies that arrive in this process."""

    def __init__(self, connections: ReaderPool) -> None:
        self._connections = connections
        self._waiting: list[_WordsJob] = []
        self._task: asyncio.Task[None] | None = None

    async def save(
        self,
        space: Space,
        agent: AgentId,
        version: int,
        words: LiveWords,
        before: CommandId | None,
        cipher: SpaceCipher | None,
    ) -> bool:
        """Replaces the words of an agent. Returns false if they or the agent have changed since."""
        data = seal_live_words(cipher, agent, words)
        if before is None:
            first = (space, agent, words.asked, words.command, data, version)
            return bool(await self._connections.fetch(_FIRST, *first))
        row = (space, agent, words.asked, words.command, data, before)
        job = _WordsJob(row, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        if self._task is None:
            self._task = asyncio.create_task(self._store_waiting())
        return await job.done

    async def close(self) -> None:
        """Waits until all words are stored."""
        if self._task is not None:
            await self._task

    async def _store_waiting(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:_MAX_ROWS], self._waiting[_MAX_ROWS:]
                await self._store(batch)
                await asyncio.sleep(_PAUSE)
        finally:
            self._task = None

    async def _store(self, batch: Sequence[_WordsJob]) -> None:
        """Every job has a result or an error afterwards."""
        rows = sorted(job.row for job in batch)  # so writers cannot deadlock
        try:
            found = await self._connections.fetch(_NEXT, *map(list, zip(*rows, strict=True)))
        except Exception as problem:
            if len(batch) > 1 and _may_concern_one(problem):
                await asyncio.gather(*(self._store([job]) for job in batch))
                return
            for job in batch:
                if not job.done.done():  # else the caller has stopped waiting
                    job.done.set_exception(problem)
            return
        stored = {(row["space"], row["command"]) for row in found}
        for job in batch:
            if not job.done.done():
                space, _, _, command, *_ = job.row
                job.done.set_result((space, command) in stored)


def _may_concern_one(problem: Exception) -> bool:
    """Whether one job may be the cause, for example because its space is being moved."""
    return isinstance(problem, SpaceStopped) or not isinstance(problem, LogUnavailable)


class LiveWordReader:
    """Reads the words of replies. Who asks in the same moment shares one statement."""

    def __init__(self, readers: ReaderPool) -> None:
        self._readers = readers
        self._next: dict[Space, tuple[list[AgentId], asyncio.Task[dict[str, Row]]]] = {}

    async def find(
        self, space: Space, agent: AgentId, cipher: SpaceCipher | None
    ) -> LiveWords | None:
        """The words of an agent."""
        if space not in self._next:
            agents = list[AgentId]()
            self._next[space] = agents, asyncio.create_task(self._read(space, agents))
        agents, reading = self._next[space]
        agents.append(agent)
        row = (await asyncio.shield(reading)).get(agent)
        return open_live_words(cipher, *row) if row else None

    async def _read(self, space: Space, agents: Sequence[AgentId]) -> "dict[str, Row]":
        del self._next[space]
        rows = await self._readers.of(space).fetch(_FIND, space, agents)
        return {row["agent"]: row for row in rows}
