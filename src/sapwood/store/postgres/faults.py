"""What can go wrong between us and a server, and which of it passes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from sapwood.core.log import LogAway, LogError
from sapwood.store.postgres.presence import Presence

__all__ = ["FAULTS", "is_conflict", "is_lost", "passes", "patiently", "refused"]

T = TypeVar("T")

FAULTS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""Everything that the driver raises when a statement or a connection fails."""

_CONFLICT = "SW409"
_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # the server was demoted: another one is in charge
    asyncpg.InterfaceError,  # these two are said of a connection that ended between two commands
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
_PASSING = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.InvalidCachedStatementError,
)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0


def is_conflict(fault: BaseException) -> bool:
    """Whether an append was refused: another version, or a command that is known already."""
    return isinstance(fault, asyncpg.PostgresError) and (
        fault.sqlstate == _CONFLICT or isinstance(fault, asyncpg.UniqueViolationError)
    )


def is_lost(fault: BaseException) -> bool:
    """Whether the connection is of no more use, and what was sent on it is uncertain."""
    # A value that the driver cannot encode is an InterfaceError too, and nobody's connection.
    return isinstance(fault, _LOST) and not isinstance(fault, ValueError)


def passes(fault: BaseException) -> bool:
    """Whether the same statement may succeed when it is tried again."""
    return isinstance(fault, _PASSING) or is_lost(fault)


def refused(fault: BaseException | str, kept: str) -> LogError:
    """The fault in the words of the log; `kept` says what was kept."""
    sentence = f"PostgreSQL could not do it: {str(fault) or type(fault).__name__}. {kept}"
    if isinstance(fault, str):
        return LogError(sentence)
    error = LogAway(sentence) if is_lost(fault) else LogError(sentence)
    error.__cause__ = fault
    return error


async def patiently(
    action: Callable[[], Awaitable[T]], presence: Presence, seconds: float, kept: str
) -> T:
    """Does it, again while what goes wrong passes, for at most so many seconds."""
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + seconds, _FIRST_PAUSE
    while True:
        try:
            done = await action()
        except FAULTS as fault:
            if is_lost(fault):
                presence.lost()
            if not passes(fault) or loop.time() + pause > deadline:
                raise refused(fault, kept) from fault
        else:
            presence.answered()
            return done
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
