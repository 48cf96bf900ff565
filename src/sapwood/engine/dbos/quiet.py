"""DBOS kept from writing to the terminal.

What it has to say goes the way of every other log record, from WARNING on. What it reports as
trouble and is everyday life here is left out: drives that are cancelled or that went on elsewhere.
So is a database that is away, of which each of its threads has a traceback to show every second:
the clerk says that once.
"""

import logging

__all__ = ["LEVEL", "quieten"]

LEVEL = "WARNING"
_EVERYDAY = (
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


def quieten() -> None:
    """Gives the logger of DBOS a handler, so that it makes none of its own, and a filter."""
    logger = logging.getLogger("dbos")
    logger.setLevel(LEVEL)
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        logger.addHandler(logging.NullHandler())
    if _unusual not in logger.filters:
        logger.addFilter(_unusual)


def _unusual(record: logging.LogRecord) -> bool:
    message = f"{record.getMessage()} {record.exc_info[1] if record.exc_info else ''}"
    return not any(everyday in message for everyday in _EVERYDAY)
