"""A log in memory, and two processes at work on it."""

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


@pytest.fixture
def other(log: MemoryLog) -> Desk:
    """Another process on the same log."""
    return Desk(log)
