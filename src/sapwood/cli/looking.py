"""Printing lines, for commands that look at something."""

from collections.abc import Iterable

import click

__all__ = ["print_lines"]


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines, coloured if a person looks."""
    for line in lines:
        click.echo(line)
