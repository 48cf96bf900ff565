"""Log files of the program: rotating, with levels, with secrets masked, without conversations.

If the folder cannot be written, the command runs without a log file.
"""

import copy
import json
import logging
import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO, TypeVar

import click

from sapwood.config.config_file import Config
from sapwood.config.database_address import shown_address
from sapwood.core import events
from sapwood.core.errors import SapwoodError
from sapwood.core.log_values import Append
from sapwood.core.model_calls import Failure
from sapwood.log_fields import current_fields
from sapwood.private_files import private_folder
from sapwood.redaction import mask_secrets

_log = logging.getLogger("sapwood.cli")
_agents_log = logging.getLogger("sapwood.agents")
_FORM = "%(asctime)s %(levelname)-7s %(process)d %(name)s: %(message)s"
_SIZE, _FILES = 2_000_000, 3
_F = TypeVar("_F", bound=Callable[..., object])


class _MaskingFormatter(logging.Formatter):
    """Masks everything that has the form of a secret, and shows what a terminal would obey.

    Only a message begins at the left edge, so none can contain a line that looks like another.
    """

    def format(self, record: logging.LogRecord) -> str:
        from sapwood.display.text import readable

        return readable(mask_secrets(super().format(record))).replace("\n", "\n  ")


class _StderrFormatter(_MaskingFormatter):
    """Formats messages for stderr: without tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        short = copy.copy(record)
        short.exc_info = short.exc_text = short.stack_info = None
        return super().format(short)


class _JsonFormatter(logging.Formatter):
    """One JSON object for each message, with its fields, and with secrets masked."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        fields: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": mask_secrets(record.getMessage()),
        }
        own: Mapping[str, object] = getattr(record, "fields", {})
        for name, value in {**current_fields(), **own}.items():
            fields[name] = mask_secrets(value) if isinstance(value, str) else value
        if record.exc_info:
            fields["error"] = mask_secrets(self.formatException(record.exc_info))
        return json.dumps(fields, ensure_ascii=False)


class _LogFileHandler(RotatingFileHandler):
    """A file that only its owner can read. Ignores errors of writing, such as a full disk."""

    def _open(self) -> TextIOWrapper:
        stream = super()._open()
        os.fchmod(stream.fileno(), 0o600)  # an earlier version may have left it readable
        return stream

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        pass

    def close(self) -> None:
        with suppress(OSError):
            super().close()


def log_command(config: Config) -> None:
    """Logs the command and its database. Its arguments may hold private text and are left out."""
    context = click.get_current_context()
    spaces = context.params.get("spaces")
    where = f"spaces {spaces}" if spaces else f"space {config.space}"
    _log.info("%s on %s, %s", context.command_path, shown_address(config.address), where)


def log_problem(error: Exception) -> None:
    """Logs the error that ended the command, with a traceback if it is a defect."""
    if isinstance(error, SapwoodError | Failure | OSError | click.ClickException):
        _log.info("ended with %s: %s", type(error).__name__, error)
    else:
        _log.error("A defect", exc_info=error)


@contextmanager
def log_to_folder(folder: Path, verbose: int) -> Generator[Path | None]:
    """Writes a log file inside the block. Yields its path, or None if it cannot be written.

    `verbose` is the level of messages on stderr: 0 warnings, 1 information, 2 everything.
    """
    ours, others = logging.getLogger("sapwood"), logging.getLogger()
    ours.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    ours.propagate = False
    on_stderr = logging.NullHandler() if logs_as_json() else _stderr_handler(verbose)
    in_file = _file_handler(folder)
    ours.addHandler(on_stderr)
    for logger in (ours, others):  # messages of libraries go to the file only
        logger.addHandler(in_file)
    logging.captureWarnings(True)
    try:
        yield Path(in_file.baseFilename) if isinstance(in_file, _LogFileHandler) else None
    finally:
        logging.captureWarnings(False)
        ours.propagate = True
        ours.removeHandler(on_stderr)
        for logger in (ours, others):
            logger.removeHandler(in_file)
        in_file.close()


@contextmanager
def log_as_json() -> Generator[None]:
    """Writes messages to stderr as JSON lines inside the block, and not as text."""
    ours = logging.getLogger("sapwood")
    handler = _StderrHandler()
    handler.setLevel(logging.INFO)
    handler.setFormatter(_JsonFormatter())
    ours.addHandler(handler)
    try:
        yield
    finally:
        ours.removeHandler(handler)


def log_format_option(function: _F) -> _F:
    """Adds the option `--log-format` to a command that runs until it is stopped."""
    return click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        envvar="SAPWOOD_LOG_FORMAT",
        help="Log to stderr as text, or as JSON with one object per line.",
    )(function)


def log_in(log_format: str) -> AbstractContextManager[None]:
    """Writes messages to stderr in the format of `--log-format` inside the block."""
    return log_as_json() if log_format == "json" else nullcontext()


def logs_as_json() -> bool:
    """Whether messages on stderr are JSON lines now."""
    handlers = logging.getLogger("sapwood").handlers
    return any(isinstance(each.formatter, _JsonFormatter) for each in handlers)


def say(logger: logging.Logger, text: str) -> None:
    """Prints a line for the person who started the command, or logs it if messages are JSON."""
    if logs_as_json():
        logger.info("%s", text)
    else:
        click.echo(text, err=True)


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the current `sys.stderr`, which a screen replaces while it is open."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _stderr_handler(verbose: int) -> logging.Handler:
    handler = _StderrHandler()
    handler.setLevel((logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    handler.setFormatter(_StderrFormatter("%(levelname)s: %(message)s"))
    handler.addFilter(lambda record: not (record.name == _log.name and record.exc_info))
    if not verbose:  # every face shows how a turn ended
        handler.addFilter(lambda record: record.name != "sapwood.turns")
    return handler


def _file_handler(folder: Path) -> logging.Handler:
    try:
        private_folder(folder)
        handler = _LogFileHandler(
            folder / "sapwood.log", maxBytes=_SIZE, backupCount=_FILES, encoding="utf-8"
        )
    except OSError:
        return logging.NullHandler()
    handler.setFormatter(_MaskingFormatter(_FORM))
    return handler


def log_commits(appends: tuple[Append, ...]) -> None:
    """Logs committed events: turns, model calls and their costs, without any text of them.

    The end of a turn is logged where it is driven (`sapwood.telemetry.metrics_tracing`).
    """
    for append in appends:
        for recorded in append.events:
            _log_event(recorded)


def _log_event(recorded: events.Recorded) -> None:
    place = str(recorded.ref)
    match recorded.event:
        case events.AgentStarted(by, _, settings):
            _agents_log.info("%s started by %s with %s", place, by, settings.model or "no model")
        case events.TurnStarted():
            _agents_log.info("%s turn started", place)
        case events.ReplyAdded(parts, model, usage) if usage is not None:
            _agents_log.info(
                "%s %s answered: %d parts, %d tokens in (%d cached), %d out, %d microdollars",
                place,
                model,
                len(parts),
                usage.input,
                usage.cache_read,
                usage.output,
                usage.cost,
            )
        case events.TurnInterrupted(_, reason):
            _agents_log.info("%s turn interrupted: %s", place, reason)
        case events.ContextTrimmed(cause, _, turns):
            _agents_log.info("%s %s left %d turns behind", place, cause, turns)
        case events.AgentKilled(target):
            _agents_log.info("%s killed with %s", place, target)
        case event:
            _agents_log.debug("%s %s", place, event.kind)
