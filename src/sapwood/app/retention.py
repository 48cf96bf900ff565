"""Carries out retention rules: once, or again and again in a worker.

One worker at a time does it, in all spaces that it serves, and another one goes on if it ends.
Conversations go in batches, so that no erasure is large.
"""

import asyncio
import fnmatch
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sapwood.app.archive import archive_agent
from sapwood.app.erasure import eraser_for
from sapwood.config.config_file import RetentionConfig
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import Actor
from sapwood.core.ids import Space
from sapwood.lifecycle.archive import archive_address
from sapwood.lifecycle.erasable_log import LeaderLock, erasable
from sapwood.lifecycle.retention import IdleConversation, RetentionRule, find_idle

if TYPE_CHECKING:
    from sapwood.app.connection import Connection


BATCH = 50
"""The most conversations that one erasure of a worker has."""

_PAGE = 100
_TRY_AGAIN = 60.0
"""Seconds after which a worker tries again to become the one that does it."""

_log = logging.getLogger("sapwood.retention")


def is_free(found: IdleConversation, archive: str) -> bool:
    """Whether a rule may act on a conversation: it is not held, and not archived already."""
    return not found.held and not (archive and archive_address(found.root))


async def let_go(
    connection: "Connection", found: Sequence[IdleConversation], archive: str, *, by: str
) -> None:
    """Archives conversations at this address, or erases them if there is none.

    Raises `LogError` if the database or the storage fails; what was done until then stays done.
    """
    if archive:
        for each in found:
            await archive_agent(connection, each.root.agent, archive, by=by)
    elif found:
        roots = [each.root.agent for each in found]
        await eraser_for(connection).erase(roots, by=by, scope="retention")


async def run_retention(
    connection: "Connection",
    rules: Mapping[str, RetentionConfig],
    covers: Callable[[Space], bool],
    *,
    batch: int = BATCH,
) -> dict[tuple[Space, str], int]:
    """Carries out all rules in all spaces that `covers` names. Returns the conversations of each.

    A rule that fails in a space is logged and tried again at the next run.
    """
    done: dict[tuple[Space, str], int] = {}
    async for space in _spaces(connection, covers):
        for name, config in rules.items():
            if fnmatch.fnmatchcase(space, config.spaces):
                count = await _carried_out(connection.with_space(space), name, config, batch)
                if count:
                    done[space, name] = count
                    act = "archived" if config.archive else "erased"
                    _log.info("Retention %s: %d conversations of %s %s", name, count, space, act)
    return done


async def _spaces(
    connection: "Connection", covers: Callable[[Space], bool]
) -> AsyncGenerator[Space]:
    log, last = erasable(connection.log), None
    while page := await log.spaces(after=last, limit=_PAGE):
        for space in page:
            if covers(space):
                yield space
        last = page[-1]


async def _carried_out(
    connection: "Connection", name: str, config: RetentionConfig, batch: int
) -> int:
    """All batches of one rule in one space."""
    rule = RetentionRule(config.days, config.label, config.owner)
    by, log = str(Actor("system", f"retention {name}")), erasable(connection.log)
    total, waiting = 0, list[IdleConversation]()
    try:
        async for each in find_idle(log, connection.space, rule):
            if is_free(each, config.archive):
                waiting.append(each)
            if len(waiting) >= batch:
                await let_go(connection, waiting, config.archive, by=by)
                total, waiting = total + len(waiting), []
        await let_go(connection, waiting, config.archive, by=by)
        total += len(waiting)
    except (LogError, RefusedError, OSError) as error:
        _log.warning("Retention %s failed in %s: %s", name, connection.space, error)
    return total


@asynccontextmanager
async def retention_in_background(
    connection: "Connection",
    rules: Mapping[str, RetentionConfig],
    covers: Callable[[Space], bool],
    hours: float,
) -> AsyncGenerator[None]:
    """Carries the rules out every so many hours, as long as the block runs."""
    task = asyncio.ensure_future(_keep(connection, rules, covers, hours * 3600)) if rules else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _keep(
    connection: "Connection",
    rules: Mapping[str, RetentionConfig],
    covers: Callable[[Space], bool],
    seconds: float,
) -> None:
    log = erasable(connection.log)
    while True:
        lock: LeaderLock | None = None
        try:
            lock = await log.try_lead("retention")
            while lock is not None and await lock.is_held():
                await run_retention(connection, rules, covers)
                await asyncio.sleep(seconds)
        except (LogError, OSError) as error:
            _log.warning("Retention waits: %s", error)
        finally:
            if lock is not None:
                await lock.release()
        await asyncio.sleep(min(_TRY_AGAIN, seconds))
