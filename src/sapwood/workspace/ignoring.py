"""What `.gitignore` files hide. Pure: the files are read elsewhere.

Written here and not asked of git, because git runs programs that a repository's own
configuration names, and looking into a folder must not run anything.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.workspace.globs import glob_regex

__all__ = ["IgnoreFile", "is_ignored", "parse_ignore_file"]


_TRAILING = re.compile(r"((?:\\.|[^\\])*?) *", re.DOTALL)
"""Spaces at the end do not count, unless the last of them is behind a backslash."""


class _Line(Struct, frozen=True):
    regex: re.Pattern[str]
    keeps: bool
    folders_only: bool


class IgnoreFile(Struct, frozen=True):
    """The lines of one ignore file, and the folder it stands in, '' for the top."""

    folder: str
    lines: tuple[_Line, ...]
    any_line: re.Pattern[str]

    def speaks_of(self, path: str, is_folder: bool) -> bool | None:
        """Whether the path is ignored, None if no line says so. The last line that fits decides."""
        local = _bytes(path[len(self.folder) + 1 :] if self.folder else path)
        if self.any_line.fullmatch(local) is None:
            return None
        for line in reversed(self.lines):
            if (is_folder or not line.folders_only) and line.regex.fullmatch(local):
                return not line.keeps
        return None


def parse_ignore_file(folder: str, text: str) -> IgnoreFile | None:
    """The ignore file of a folder, None if nothing is in it.

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
    """Whether a path is ignored, given the files of the folders above it, outermost first.

    A path in an ignored folder is ignored too, which a walk has by not entering the folder.
    """
    for file in reversed(files):
        said = file.speaks_of(path, is_folder)
        if said is not None:
            return said
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
    """A character for every byte: to git `?` is one byte of a name."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")
