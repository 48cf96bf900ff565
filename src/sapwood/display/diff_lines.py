"""What each line of the change of a file is: the name of a file, a removed line, an added one.

The header of each part says how many lines follow. So a removed `-- comment` of SQL, which is
written `--- comment`, is not taken for the name of a file.
"""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class DiffLine(Struct, frozen=True):
    """One line of a change with its sign. `old` and `new` are where the lines of a hunk begin."""

    text: str
    kind: Literal["file", "hunk", "added", "removed", "note", "text"]
    old: int = 0
    new: int = 0


def diff_lines(diff: str) -> Iterator[DiffLine]:
    r"""The lines of a change of one or more files.

    >>> diff = "--- a.sql\n+++ a.sql\n@@ -1 +1 @@\n--- old\n+-- new"
    >>> [each.kind for each in diff_lines(diff)]
    ['file', 'file', 'hunk', 'removed', 'added']
    """
    lines = diff.split("\n")
    removed = added = 0  # lines of the hunk that have not come yet
    names = 0
    for number, line in enumerate(lines):
        sign = line[:1]
        if removed <= 0 and added <= 0 and _names_files(lines[number : number + 3]):
            names = 2
        if names:
            names -= 1
            yield DiffLine(line, "file")
        elif found := _HUNK.match(line):
            removed, added = int(found[2] or 1), int(found[4] or 1)
            yield DiffLine(line, "hunk", int(found[1]), int(found[3]))
        elif sign == "\\":  # it is about the line before, and not a line of the file
            yield DiffLine(line, "note")
        else:
            removed -= sign != "+"
            added -= sign != "-"
            yield DiffLine(line, "added" if sign == "+" else "removed" if sign == "-" else "text")


def _names_files(lines: list[str]) -> bool:
    """Whether the first two of these lines name a file before its first hunk."""
    return (
        len(lines) == 3
        and lines[0].startswith("--- ")
        and lines[1].startswith("+++ ")
        and lines[2].startswith("@@ ")
    )
