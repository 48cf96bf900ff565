"""Log files: what happened behind the screen, with levels, rotating, without secrets.

A folder that cannot be written is no reason to stop.
"""

import copy
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

import click

from sapwood.app.config import Config
from sapwood.app.opening import shown_address
from sapwood.core.calling import Failure
from sapwood.core.errors import SapwoodError
from sapwood.core.secrets import mask_secrets

__all__ = ["log_command", "log_problem", "logging_to"]

_log = logging.getLogger("sapwood.cli")
_FORM = "%(asctime)s %(levelname)-7s %(process)d %(name)s: %(message)s"
_SIZE, _FILES = 2_000_000, 3


class _Masked(logging.Formatter):
    """Keeps out whatever looks like a key."""

    def format(self, record: logging.LogRecord) -> str:
        return mask_secrets(super().format(record))


class _Told(_Masked):
    """For people: what happened, without where in the code."""

    def format(self, record: logging.LogRecord) -> str:
        told = copy.copy(record)
        told.exc_info = told.exc_text = told.stack_info = None
        return super().format(told)


class _Quiet(RotatingFileHandler):
    """A file that fails, on a full disk say, does not spoil the command."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        pass


def log_command(config: Config) -> None:
    """Notes which command runs on which database; not its arguments, which hold what was said."""
    path = click.get_current_context().command_path
    place = shown_address(config.address)
    _log.info("%s on %s, space %s", path, place, config.space)


def log_problem(error: Exception) -> None:
    """Notes what ended the command: with the traceback, unless it is of a kind that happens."""
    if isinstance(error, SapwoodError | Failure | OSError | click.ClickException):
        _log.info("ended with %s: %s", type(error).__name__, error)
    else:
        _log.error("A defect", exc_info=error)


@contextmanager
def logging_to(folder: Path, verbose: int) -> Generator[Path | None]:
    """Writes a log file meanwhile; gives its place, if it can be written.

    `verbose` also tells on stderr what happens: warnings at 0, then more.
    """
    ours, others = logging.getLogger("sapwood"), logging.getLogger()
    ours.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    ours.propagate = False
    told = _to_stderr(verbose)
    kept = _in_folder(folder)
    ours.addHandler(told)
    for logger in (ours, others):  # what libraries have to say belongs into the file alone
        logger.addHandler(kept)
    logging.captureWarnings(True)
    try:
        yield Path(kept.baseFilename) if isinstance(kept, _Quiet) else None
    finally:
        logging.captureWarnings(False)
        ours.propagate = True
        ours.removeHandler(told)
        for logger in (ours, others):
            logger.removeHandler(kept)
        kept.close()


class _Stderr(logging.StreamHandler[TextIO]):
    """Wherever errors go at that moment: a screen takes them over while it is open."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _to_stderr(verbose: int) -> logging.Handler:
    handler = _Stderr()
    handler.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    handler.setFormatter(_Told("%(levelname)s: %(message)s"))
    handler.addFilter(lambda record: not (record.name == _log.name and record.exc_info))
    return handler


def _in_folder(folder: Path) -> logging.Handler:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handler = _Quiet(
            folder / "sapwood.log", maxBytes=_SIZE, backupCount=_FILES, encoding="utf-8"
        )
    except OSError:
        return logging.NullHandler()
    handler.setFormatter(_Masked(_FORM))
    return handler
