"""Removes conversations: erases them, or archives them in object storage with a way back.

Finds those that a restored backup brought back. Carries out retention rules: once, or again and
again in a worker. One worker at a time does it, in all spaces that it serves, and another one goes
on if it ends. Conversations go in batches, so that no erasure is large.
"""

import asyncio
import fnmatch
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.app.external_stores import external_stores
from sapwood.config.config_file import RetentionConfig
from sapwood.core.commands import Archive, Unarchive
from sapwood.core.erasure import ArchivedConversation
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import SYSTEM, Actor
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary
from sapwood.core.refusals import ConversationInUse, InArchive, Refusal, UnknownAgent
from sapwood.lifecycle.archive import (
    archive_address,
    archive_conversation,
    is_archive_of,
    restore_conversation,
)
from sapwood.lifecycle.erasable_log import LeaderLock, erasable
from sapwood.lifecycle.erasure import Eraser, is_erased, read_erased
from sapwood.lifecycle.retention import IdleConversation, RetentionRule, find_idle
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.log import ExpiringLog

if TYPE_CHECKING:
    from sapwood.app.connection import Connection


BATCH = 50
"""The most conversations that one erasure of a worker has."""

_PAGE, _ERASED_PAGE = 100, 1_000
_TRY_AGAIN = 60.0
"""Seconds after which a worker tries again to become the one that does it."""

_log = logging.getLogger("sapwood.retention")


def eraser_for(connection: "Connection") -> Eraser:
    """Returns what erases in the space of the connection. Raises `LogError`."""
    log = erasable(connection.log)
    outside = external_stores(log, connection.address)
    return Eraser(log, connection.space, outside, connection.dispatcher.forget)


async def find_again(
    connection: "Connection", files: Sequence[Path]
) -> dict[Space, list[AgentSummary]]:
    """What these lists of erasures name, and the database has again, after a restore; by space.

    Raises `LogError` if a list cannot be read.
    """
    log = erasable(connection.log)
    found: dict[Space, list[AgentSummary]] = {}
    for space, times in (await asyncio.to_thread(read_erased, files)).items():
        page = await log.agents(space, limit=_ERASED_PAGE)
        while page:
            found.setdefault(space, []).extend(
                summary for summary in page if is_erased(times, space, summary)
            )
            page = await log.agents(space, after=page[-1], limit=_ERASED_PAGE)
    return {space: agents for space, agents in found.items() if agents}


def is_free(found: IdleConversation, archive: str) -> bool:
    """Whether a rule may act on a conversation: it is not held, and not archived already."""
    return not found.held and not (archive and archive_address(found.root))


async def let_go(
    connection: "Connection", found: Sequence[IdleConversation], archive: str, *, by: str
) -> int:
    """Archives conversations at this address, or erases them if there is none. Returns how many.

    One that somebody has used, archived or erased since it was found is passed over. Raises
    `LogError` if the database or the storage fails; what was done until then stays done.
    """
    if not archive:
        eraser = eraser_for(connection)
        await eraser.require_no_hold([each.root.agent for each in found])
        roots = [each.root.agent for each in found if await _close(connection, each.members)]
        if roots:
            await eraser.erase(roots, by=by, scope="retention")
        return len(roots)
    done = 0
    for each in found:
        try:
            await archive_agent(connection, each.root.agent, archive, by=by, members=each.members)
        except RefusedError as refused:
            if not isinstance(refused.refusal, ConversationInUse | InArchive | UnknownAgent):
                raise
        else:
            done += 1
    return done


async def _close(connection: "Connection", members: Sequence[AgentSummary]) -> bool:
    """Archives the agents of a conversation, so that nothing more is added to it.

    Returns false, and opens them again, if one of them was used since these summaries were read.
    One with an open turn cannot be archived; it only must not have been used.
    """
    dispatch, closed = connection.dispatcher.dispatch, list[AgentId]()
    for each in members:
        if each.status == "running" and not each.working:
            done = await dispatch(Archive(each.agent), command_meta(SYSTEM))
            closed += () if isinstance(done, Refusal) else (each.agent,)
    now = await connection.log.family(connection.space, members[0].agent)
    wanted = {each.agent: each.version + (each.agent in closed) for each in members}
    if {each.agent: each.version for each in now} == wanted:
        return True
    for agent in closed:
        await dispatch(Unarchive(agent), command_meta(SYSTEM))
    return False


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
                total += await let_go(connection, waiting, config.archive, by=by)
                waiting = []
        total += await let_go(connection, waiting, config.archive, by=by)
    except (LogError, RefusedError, OSError) as error:
        _log.warning("Retention %s failed in %s: %s", name, connection.space, error)
    return total


@asynccontextmanager
async def retention_in_background(
    connection: "Connection",
    rules: Mapping[str, RetentionConfig],
    covers: Callable[[Space], bool],
    hours: float,
    receipt_days: int = 0,
) -> AsyncGenerator[None]:
    """Carries the rules out every so many hours, as long as the block runs.

    Receipts of Sapwood's own commands expire after `receipt_days`, if that is not 0.
    """
    days = receipt_days if isinstance(connection.log, ExpiringLog) else 0
    task = None
    if rules or days:
        task = asyncio.ensure_future(_keep(connection, rules, covers, hours * 3600, days))
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
    receipt_days: int,
) -> None:
    log = erasable(connection.log)
    while True:
        lock: LeaderLock | None = None
        try:
            lock = await log.try_lead("retention")
            while lock is not None and await lock.is_held():
                await run_retention(connection, rules, covers)
                if receipt_days and isinstance(connection.log, ExpiringLog):
                    expired = await connection.log.expire_receipts(receipt_days)
                    _log.info("%d receipts have expired", expired)
                await asyncio.sleep(seconds)
        except (LogError, OSError) as error:
            _log.warning("Retention waits: %s", error)
        finally:
            if lock is not None:
                await lock.release()
        await asyncio.sleep(min(_TRY_AGAIN, seconds))


async def archive_agent(
    connection: "Connection",
    root: AgentId,
    place: str,
    *,
    by: str,
    members: Sequence[AgentSummary] | None = None,
) -> ArchivedConversation:
    """Moves the conversation of a root to object storage and leaves a stub in its place.

    `members` are its agents as they were found. Raises `RefusedError` if a legal hold covers it or
    if it is in use, and `LogError` if the object cannot be written.
    """
    counter = connection.dispatcher.counter_for("")
    eraser = eraser_for(connection)
    return await archive_conversation(eraser, root, place, counter, by=by, members=members)


async def restore_agent(
    connection: "Connection", stub: AgentId | None, address: str = "", *, by: str
) -> int:
    """Brings the conversation back of which this agent is the stub. Returns its agents.

    Without a stub, `address` is that of the object. Raises `LogError` if it is no stub, or if its
    object cannot be read, and `RefusedError` if something would be lost.
    """
    eraser, summary = eraser_for(connection), None
    if stub is not None:
        summary = await eraser.log.summary(connection.space, stub)
        address = archive_address(summary) if summary is not None else ""
        if not is_archive_of(address, connection.space, stub):
            raise LogError(f"'{stub}' is not archived. Nothing was changed.")
    return await restore_conversation(eraser, summary, address, by=by)
