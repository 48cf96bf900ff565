"""A log in memory, and one process at work on it."""

import pytest

from tests.store.memory_log import MemoryLog
from tests.turns.commanding import Desk


@pytest.fixture
def log() -> MemoryLog:
    """The test's log."""
    return MemoryLog()


@pytest.fixture
def desk(log: MemoryLog) -> Desk:
    """One process."""
    return Desk(log)
