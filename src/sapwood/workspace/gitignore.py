"""Which paths `.gitignore` files hide. Pure: `file_walk` reads the files.

Git is not asked, because git runs programs that the repository's own configuration names, and
listing a folder must not run anything.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.workspace.globs import glob_regex

_TRAILING = re.compile(r"((?:\\.|[^\\])*?) *", re.DOTALL)
"""Spaces at the end of a line do not count, unless a backslash stands before the last one."""


class _Line(Struct, frozen=True):
    regex: re.Pattern[str]
    keeps: bool
    folders_only: bool


class IgnoreFile(Struct, frozen=True):
    """The lines of one ignore file, and its folder, '' for the top."""

    folder: str
    lines: tuple[_Line, ...]
    any_line: re.Pattern[str]

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """Whether the path is ignored; None if no line matches. The last matching line decides."""
        local = _bytes(path[len(self.folder) + 1 :] if self.folder else path)
        if self.any_line.fullmatch(local) is None:
            return None
        for line in reversed(self.lines):
            if (is_folder or not line.folders_only) and line.regex.fullmatch(local):
                return not line.keeps
        return None


def parse_ignore_file(folder: str, text: str) -> IgnoreFile | None:
    """The parsed ignore file of a folder; None if it has no pattern.

    >>> file = parse_ignore_file("", "*.log\\n!keep.log\\nbuild/")
    >>> [is_ignored([file], path, False) for path in ("a/x.log", "keep.log", "build")]
    [True, False, False]
    """
    text = _bytes(text.removeprefix("\ufeff"))
    lines = tuple(line for raw in text.split("\n") if (line := _line(raw)))
    if not lines:
        return None
    every = re.compile("|".join(f"(?:{line.regex.pattern})" for line in lines), re.DOTALL)
    return IgnoreFile(folder, lines, every)


def is_ignored(files: Sequence[IgnoreFile], path: str, is_folder: bool) -> bool:
    """Whether a path is ignored, given the ignore files of the folders above it, outermost first.

    This does not check whether a folder above the path is ignored: a walk does not enter those.
    """
    for file in reversed(files):
        ignored = file.decides(path, is_folder)
        if ignored is not None:
            return ignored
    return False


def _line(raw: str) -> _Line | None:
    pattern = _without_trailing_spaces(raw.removesuffix("\r"))
    if not pattern or pattern.startswith("#"):
        return None
    keeps = pattern.startswith("!")
    pattern = pattern[1:] if keeps else pattern
    folders_only = pattern.endswith("/")
    if not pattern.strip("/"):
        return None
    return _Line(re.compile(glob_regex(pattern), re.DOTALL), keeps, folders_only)


def _without_trailing_spaces(text: str) -> str:
    found = _TRAILING.fullmatch(text)
    return found[1] if found else text


def _bytes(text: str) -> str:
    """One character for each byte, because `?` matches one byte in git."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")
