"""Keeps DBOS from writing to the terminal.

Its log records go the usual way of Python logging, from WARNING on. Records are dropped when they
report as trouble what is normal here: drives that were cancelled or that continue in another
worker. Records about a database that is away are dropped too, because each DBOS thread would log a
traceback every second; `TransactionThread` logs that once.
"""

import logging

LOG_LEVEL = "WARNING"
_EXPECTED = (
    "Asyncio task cancelled",
    "is no longer owned by this execution",
    "was cancelled during execution",
    "no longer the latest version",
    "Duplicate registration of function",
    "Could not connect to postgres database to verify existence",
    "Contention detected in queue thread",
    "OperationalError",
    "Database connection failed",
    "cannot schedule new futures after shutdown",
)


def quiet_dbos_logging() -> None:
    """Gives the logger of DBOS a null handler, so that it adds none itself, and a filter."""
    logger = logging.getLogger("dbos")
    logger.setLevel(LOG_LEVEL)
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        logger.addHandler(logging.NullHandler())
    if _is_unexpected not in logger.filters:
        logger.addFilter(_is_unexpected)


def _is_unexpected(record: logging.LogRecord) -> bool:
    message = f"{record.getMessage()} {record.exc_info[1] if record.exc_info else ''}"
    return not any(expected in message for expected in _EXPECTED)
