"""Walks through folders in order, leaves out what is ignored, and follows no symlink.

Which paths `.gitignore` files hide. Pure: `file_walk` reads the files.

Git is not asked, because git runs programs that the repository's own configuration names, and
listing a folder must not run anything.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from sapwood.workspace.globs import glob_regex
from sapwood.workspace.safe_paths import ResolvedPath, open_folder

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


_IGNORE = ".gitignore"
_IGNORE_SIZE = 1_000_000
_ALWAYS_HIDDEN = frozenset({".git"})
_MAX_DEPTH = 100


class FolderEntry(Struct, frozen=True, gc=False):
    """A file, folder or symlink. The path is relative to the folder of the walk.

    `is_special` is true for a pipe, socket or device, which may wait forever when it is read.
    """

    path: str
    is_folder: bool = False
    is_link: bool = False
    is_special: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the path is valid text; file systems also allow other names."""
        return self.path.isascii() or self.path.encode("utf-8", "replace").decode() == self.path

    @property
    def shown(self) -> str:
        """The path as text; invalid bytes become replacement characters."""
        return os.fsencode(self.path).decode("utf-8", "replace")


ShouldStop = Callable[[], bool]
"""Returns True when the walk shall end, because a walk in a thread cannot be cancelled."""


def walk(
    place: ResolvedPath, *, ignored: bool = False, depth: int = 0, stop: ShouldStop
) -> Iterator[FolderEntry]:
    """Yields everything in a folder, by name, each folder before its contents.

    With `ignored`, also what ignore files hide. `depth` is the number of levels, 0 for all.
    """
    above = () if ignored else _above(place)
    below = "" if place.real == place.root or not place.is_inside else place.shown
    with open_folder(place) as folder:
        yield from _walk(
            folder, "", below, above, ignored, min(depth or _MAX_DEPTH, _MAX_DEPTH), stop
        )


def _walk(
    folder: int,
    path: str,
    base: str,
    files: tuple[IgnoreFile, ...],
    ignored: bool,
    depth: int,
    stop: ShouldStop,
) -> Iterator[FolderEntry]:
    """`path` starts at the walk's folder; `base` is that folder from the top of the workspace."""
    entries = _entries(folder)
    if not ignored and _IGNORE in entries:
        found = _ignore_file(folder, os.path.join(base, path).rstrip("/"))
        files = (*files, found) if found else files
    for name, entry in sorted(entries.items()):
        if stop():
            return
        here = f"{path}/{name}" if path else name
        is_folder = entry.is_dir(follow_symlinks=False)
        full = f"{base}/{here}" if base else here
        if name in _ALWAYS_HIDDEN or (files and is_ignored(files, full, is_folder)):
            continue
        is_link = entry.is_symlink()
        is_special = not (is_folder or is_link or entry.is_file(follow_symlinks=False))
        yield FolderEntry(here, is_folder, is_link, is_special)
        if is_folder and depth > 1:
            inner = _open(folder, name)
            if inner is not None:
                try:
                    yield from _walk(inner, here, base, files, ignored, depth - 1, stop)
                finally:
                    os.close(inner)


def _entries(folder: int) -> dict[str, os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return {entry.name: entry for entry in found}


def _open(folder: int, name: str) -> int | None:
    """A descriptor of the folder; None if it is gone or may not be read."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError:
        return None


def _above(place: ResolvedPath) -> tuple[IgnoreFile, ...]:
    """The ignore files between the top of the workspace and the walk's folder."""
    if not place.is_inside:
        return ()
    found: list[IgnoreFile] = []
    for count in range(len(place.steps)):
        steps = place.steps[:count]
        real = os.path.join(place.root, *steps)
        with open_folder(ResolvedPath(place.root, real, place.given)) as folder:
            file = _ignore_file(folder, "/".join(steps))
        found += [file] if file else []
    return tuple(found)


def _ignore_file(folder: int, path: str) -> IgnoreFile | None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(_IGNORE, flags, dir_fd=folder)
    except OSError:
        return None  # it does not exist, or is a symlink, which git does not follow either
    with os.fdopen(descriptor, "rb") as file:
        try:
            text = file.read(_IGNORE_SIZE).decode("utf-8", "surrogateescape")
        except OSError:
            return None
    return parse_ignore_file(path, text)
