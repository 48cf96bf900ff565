"""Text that was piped in, or that stands in a file."""

import sys
from pathlib import Path

import click

__all__ = ["piped", "text_of"]


def piped() -> str | None:
    """All of stdin, or None when it is a terminal or closed."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return None
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def text_of(source: str) -> str:
    """The text of a file, or of stdin if it is named `-`."""
    if source == "-":
        return piped() or ""
    try:
        return Path(source).expanduser().read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise click.UsageError(f"'{source}' cannot be read: {error.strerror}.") from error
