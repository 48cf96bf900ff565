"""Keeps Temporal's client from writing to the terminal.

Its records go the usual way of Python logging. Records are dropped when they report as trouble what
is normal here: drives that failed or were cancelled, which the engine logs itself, and calls that
are repeated while the server is away, which `TemporalEngine` logs once.
"""

import logging

_EXPECTED = (
    "Completing activity as failed",
    "Completing as failure",
    "Completing as cancelled",
    "retried",
    "Network error while",
    "Activity not found on completion",
    "Task not found when completing",
    "UnhandledCommand",
)
_LOGGERS = ("temporalio.activity", "temporalio.worker", "temporalio.workflow")


def quiet_temporal_logging(core: logging.Logger) -> None:
    """Adds a filter to the loggers of the library and to `core`, which gets the log of its core."""
    for logger in (core, *map(logging.getLogger, _LOGGERS)):
        if _is_unexpected not in logger.filters:
            logger.addFilter(_is_unexpected)


def _is_unexpected(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    return not any(expected in message for expected in _EXPECTED)
