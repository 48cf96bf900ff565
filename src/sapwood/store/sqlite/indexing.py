"""Fills the word index: a little at a time when nobody writes, at once when somebody searches.

Never inside a commit, which must not pay for searches that may never come. Words are cut in a
reading thread; the writer only adds them, in batches too small to hold up a commit.
"""

import asyncio
from contextlib import suppress

from sapwood.core.log import LogError
from sapwood.store.sqlite.events import last_position
from sapwood.store.sqlite.readers import Readers
from sapwood.store.sqlite.words import indexed_position, insert_words, next_words
from sapwood.store.sqlite.writer import Writer

__all__ = ["Indexing"]

_IDLE_SECONDS = 0.5


class Indexing:
    """Keeps the word index near the end of the log. Belongs to one event loop."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers = readers
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._one_at_a_time = asyncio.Lock()
        self._last_commit = self._loop.time()
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self.expect()

    def expect(self) -> None:
        """Something was committed: index it when it is quiet again."""
        self._last_commit = self._loop.time()
        if self._task is None and not self._closed:
            self._task = self._loop.create_task(self._when_idle())

    async def complete(self) -> None:
        """Returns when everything committed before this call is in the index."""
        end = await self._readers.do(last_position)
        while await self._readers.do(indexed_position) < end:
            await self._step()

    async def close(self) -> None:
        """Stops where it is; the next one goes on from there."""
        self._closed = True
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _step(self) -> bool:
        """Adds one batch; false if there was nothing to add."""
        async with self._one_at_a_time:
            batch = await self._readers.do(next_words)
            if batch.last == batch.after:
                return False
            await self._writer.do(lambda on: insert_words(on, batch), durable=False)
            return True

    async def _when_idle(self) -> None:
        try:
            # A search will say what is wrong; nobody would hear it here.
            with suppress(LogError):
                more = True
                while more:
                    idle = self._loop.time() - self._last_commit
                    if idle < _IDLE_SECONDS:
                        await asyncio.sleep(_IDLE_SECONDS - idle)
                    else:
                        known = self._last_commit
                        more = await self._step() or self._last_commit != known
        finally:
            self._task = None
