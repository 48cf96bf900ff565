"""Logs filled from the pure world, so that any history can be opened as it would be stored."""

from sapwood.core.ids import CommandId
from sapwood.core.log_values import Append, Commit, Receipt, summary_of
from sapwood.core.token_count import ZERO
from sapwood.testing import CoreHarness
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import SPACE


async def stored(world: CoreHarness) -> MemoryLog:
    """A log that holds everything that happened in a world."""
    log = MemoryLog()
    for agent, events in world.logs.items():
        append = Append(agent, 0, tuple(events), summary_of(world.states[agent], ZERO))
        await log.commit(SPACE, Commit((append,), Receipt(CommandId(agent))))
    return log
