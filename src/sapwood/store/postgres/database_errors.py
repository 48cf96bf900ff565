"""Errors of the server and the connection: which are temporary, when to retry, what to report."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from sapwood.core.log_values import AvailabilityListener, LogAway, LogError
from sapwood.store.master_keys import KeyChanged

T = TypeVar("T")

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""Everything that the driver raises when a statement or a connection fails."""

_CONFLICT, _OTHER_KEY = "SW409", "SW423"
_CONNECTION_LOSS = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # after a failover: this server is now a replica
    asyncpg.InterfaceError,  # this and the next: the connection ended between two statements
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
_RETRYABLE = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.InvalidCachedStatementError,
)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0


class ServerAvailability:
    """Reports changes of the server's availability. All connections of a log share one."""

    def __init__(self, on_change: AvailabilityListener | None) -> None:
        self._on_change = on_change
        self._away = False

    def lost(self, error: BaseException) -> None:
        """A connection was lost or could not be opened."""
        self._away = True
        if self._on_change:
            self._on_change(_reason(error))

    def answered(self) -> None:
        """The server has answered a statement."""
        if self._away:
            self._away = False
            if self._on_change:
                self._on_change("")


def is_conflict(error: BaseException) -> bool:
    """Whether an append was refused: wrong version, or the command is already stored."""
    return isinstance(error, asyncpg.PostgresError) and (
        error.sqlstate == _CONFLICT or isinstance(error, asyncpg.UniqueViolationError)
    )


def is_connection_loss(error: BaseException) -> bool:
    """Whether the connection is lost, so that the result of its last statement is unknown."""
    # For a value that it cannot encode, the driver raises an InterfaceError and a ValueError.
    return isinstance(error, _CONNECTION_LOSS) and not isinstance(error, ValueError)


def is_temporary(error: BaseException) -> bool:
    """Whether the same statement may succeed if it is repeated."""
    return isinstance(error, _RETRYABLE) or is_connection_loss(error)


def log_error(error: BaseException | str, kept: str) -> LogError:
    """A `LogError` about a driver error, or `LogAway` if the connection is lost.

    `KeyChanged` if a commit was not sealed with the key of its space. `kept` is the sentence about
    what was stored.
    """
    reason = error if isinstance(error, str) else _reason(error)
    sentence = f"PostgreSQL reported an error: {reason}. {kept}"
    if isinstance(error, str):
        return LogError(sentence)
    raised = LogAway(sentence) if is_connection_loss(error) else LogError(sentence)
    if isinstance(error, asyncpg.PostgresError) and error.sqlstate == _OTHER_KEY:
        raised = KeyChanged(sentence)
    raised.__cause__ = error
    return raised


async def with_retries(
    action: Callable[[], Awaitable[T]], availability: ServerAvailability, seconds: float, kept: str
) -> T:
    """Runs `action`, and repeats it after a temporary error, for at most `seconds`.

    Raises a `LogError` that ends with the sentence `kept` if it does not succeed.
    """
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + seconds, _FIRST_PAUSE
    while True:
        try:
            result = await action()
        except DRIVER_ERRORS as error:
            if is_connection_loss(error):
                availability.lost(error)
            if not is_temporary(error) or loop.time() + pause > deadline:
                raise log_error(error, kept) from error
        else:
            availability.answered()
            return result
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
