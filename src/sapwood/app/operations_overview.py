"""What runs in a database now: spaces, their open turns and queues, workers, and what it cost.

Reads at most a few hundred rows for each space, whatever the size of the database.
"""

from collections.abc import Callable
from time import time

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.core.content import RecordedReply, Usage
from sapwood.core.errors import KeyMissing, SpaceMoved, SpaceStopped
from sapwood.core.events import (
    ReplyAdded,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
)
from sapwood.core.ids import AgentId, Space
from sapwood.engine.workers import EngineStatus, WorkerSeen, read_engine_status
from sapwood.turns.log import MovableLog

_MAX_SPACES, _MAX_WORKING = 50, 1_000
_MAX_AGENTS, _MAX_EVENTS = 40, 200


class SpaceOverview(Struct, frozen=True):
    """One space: what is open now, and what happened in the window of time.

    `open` are agents with work to do, `asking` those of them that wait for an approval. Of those
    that workers know, `running` are run and `waiting` are not. `turns`, `failed` and `spent` are
    those of the window, of the agents that changed last. `elsewhere` says why nothing is counted:
    another database has the space.
    """

    space: Space
    open: int = 0
    asking: int = 0
    running: int = 0
    waiting: int = 0
    turns: int = 0
    failed: int = 0
    spent: Usage = Usage(0)
    elsewhere: str = ""


class WorkerOverview(Struct, frozen=True):
    """One worker: its machine, its process, its heartbeats, and how many agents it runs."""

    worker: str
    host: str
    process: str
    beats: int
    running: int


class Overview(Struct, frozen=True):
    """Everything that `sapwood top` shows. `seconds` is the window of time."""

    spaces: tuple[SpaceOverview, ...]
    workers: tuple[WorkerOverview, ...]
    seconds: float


async def overview_of(
    connection: Connection, address: str, covers: Callable[[Space], bool], seconds: float
) -> Overview:
    """Reads the overview of the spaces that have work, and of the space of the connection."""
    status = await read_engine_status(address)
    found = {
        connection.space,
        *await connection.log.working_spaces(limit=_MAX_SPACES),
        *(each.space for each in status.queued),
    }
    names = sorted(space for space in found if covers(space))[:_MAX_SPACES]
    since = int((time() - seconds) * 1_000_000)
    spaces = [await _space_overview(connection, status, name, since) for name in names]
    workers = tuple(_worker_overview(status, each) for each in status.workers)
    return Overview(tuple(spaces), workers, seconds)


def _worker_overview(status: EngineStatus, seen: WorkerSeen) -> WorkerOverview:
    running = sum(each.agents for each in status.queued if each.worker == seen.worker)
    return WorkerOverview(seen.worker, seen.host, seen.process, seen.beats, running)


async def _space_overview(
    connection: Connection, status: EngineStatus, space: Space, since: int
) -> SpaceOverview:
    log = connection.log
    if isinstance(log, MovableLog):
        try:
            await log.require_here(space)
        except (SpaceMoved, SpaceStopped) as reason:
            return SpaceOverview(space, elsewhere=str(reason))
    queued = [each for each in status.queued if each.space == space]
    running = sum(each.agents for each in queued if each.worker)
    waiting = sum(each.agents for each in queued if not each.worker)
    try:
        working = await log.working(space, limit=_MAX_WORKING)
        latest = await log.agents(space, limit=_MAX_AGENTS, order="updated")
    except KeyMissing:
        return SpaceOverview(space, running=running, waiting=waiting)
    turns, failed, spent = 0, 0, Usage(0)
    for summary in latest:
        if summary.updated >= since:
            ended, failures, used = await _recent(connection, space, summary.agent, since)
            turns, failed, spent = turns + ended, failed + failures, spent + used
    return SpaceOverview(
        space,
        open=len(working),
        asking=sum(summary.asking for summary in working),
        running=running,
        waiting=waiting,
        turns=turns,
        failed=failed,
        spent=spent,
    )


async def _recent(
    connection: Connection, space: Space, agent: AgentId, since: int
) -> tuple[int, int, Usage]:
    """The ended turns, the failed ones and the usage of an agent since a moment."""
    turns, failed, spent = 0, 0, Usage(0)
    events = await connection.log.read(space, agent, limit=_MAX_EVENTS, backward=True)
    for recorded in events:
        if recorded.at < since:
            break
        match recorded.event:
            case ReplyAdded(usage=Usage() as usage):
                spent += usage
            case TurnRecorded(items=items):
                turns += 1
                replies = (each for each in items if isinstance(each, RecordedReply))
                spent = sum((each.usage for each in replies if each.usage), spent)
            case TurnCompleted() | TurnInterrupted():
                turns += 1
            case TurnFailed():
                turns, failed = turns + 1, failed + 1
            case _:
                pass
    return turns, failed, spent
