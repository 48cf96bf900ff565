"""How help is laid out: readable from forty columns on."""

import os
import re
import sys
import textwrap
from collections.abc import Iterable

import click

__all__ = ["Context", "Page", "columns"]

_WORDS = re.compile(r"""(?:"[^"]*"|'[^']*'|\S)+""")
_NARROW = 60
_WIDEST = 88


def columns() -> int:
    """How wide the terminal is: as `shutil` finds it, whose import would cost more than this."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return max(24, int(given))
    try:
        return max(24, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError, AttributeError):
        return 80


class Page(click.HelpFormatter):
    """A page of help, as wide as the terminal."""

    def __init__(
        self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None
    ) -> None:
        if width is None:
            width = min(columns(), max_width or _WIDEST) - 1
        super().__init__(indent_increment, width, max_width)

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 28, col_spacing: int = 2
    ) -> None:
        """Terms beside what they mean; above it where there is no room beside."""
        if self.width >= _NARROW:
            super().write_dl(rows, col_max, col_spacing)
            return
        indent = " " * self.current_indent
        for term, meaning in rows:
            self.write(f"{indent}{term}\n")
            inner = indent + "    "
            lines = textwrap.wrap(
                meaning, self.width, initial_indent=inner, subsequent_indent=inner
            )
            self.write("".join(f"{line}\n" for line in lines))

    def write_examples(self, examples: Iterable[str]) -> None:
        """Lines to type, wrapped as a shell would take them."""
        indent = " " * self.current_indent
        for example in examples:
            lines = [""]
            for word in _WORDS.findall(example):
                if lines[-1] and len(f"{indent}{lines[-1]} {word}") > self.width - 2:
                    lines.append("   ")
                lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
            self.write(" \\\n".join(indent + line for line in lines) + "\n")


class Context(click.Context):
    """A context whose help is laid out so."""

    formatter_class = Page
