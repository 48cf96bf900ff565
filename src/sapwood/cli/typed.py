"""What was typed or piped in, made fit to be stored."""

import sys
from pathlib import Path

import click

__all__ = ["clean", "piped", "text_of"]


def clean(text: str) -> str:
    """The text without lone surrogates, which no encoding can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


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
