"""One process at work on a log in memory."""

import pytest

from tests.store.memory_log import MemoryLog
from tests.turns.commanding import Desk


@pytest.fixture
def desk() -> Desk:
    """One process."""
    return Desk(MemoryLog())
