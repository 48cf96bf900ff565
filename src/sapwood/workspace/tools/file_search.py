"""`list_files` and `search_files`: paths, and lines that match a regular expression.

`select_files` chooses the files, so that ignore files, symlinks and permission rules have the same
effect whether ripgrep searches, or Python where ripgrep is not installed.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from sapwood.core.plural import counted
from sapwood.workspace.file_walk import FolderEntry, ShouldStop, walk
from sapwood.workspace.globs import glob_regex
from sapwood.workspace.programs import ProgramResult, run_program
from sapwood.workspace.safe_paths import ResolvedPath, is_folder, open_file
from sapwood.workspace.tool_output import MAX_RESULT_BYTES, ToolError, truncate
from sapwood.workspace.tools.python_search import SearchTask
from sapwood.workspace.tools.tool_arguments import SearchFiles

_MAX_PATHS = 20_000
_TIMEOUT = 60
_MAX_ARGUMENTS = 500_000
"""Bytes of file names in one call of ripgrep: systems limit the arguments of a program."""
_RIPGREP = (
    "--no-config --no-ignore --hidden --no-heading --with-filename --line-number --color=never "
    "--crlf --engine=auto --threads=1 --max-columns=1000 --max-columns-preview --no-messages"
).split()
_BINARY = re.compile(r"^.*: binary file matches \(found .*\)\n?", re.MULTILINE)
"""What ripgrep prints for a file that is not text; `read_file` could not show it either."""


def list_files(place: ResolvedPath, glob: str, depth: int, ignored: bool, stop: ShouldStop) -> str:
    """The paths of a folder, one per line: files, and folders at the last level of `depth`."""
    if not is_folder(place):
        return place.shown
    wanted = _glob_filter(glob)
    prefix = place.prefix
    lines: list[str] = []
    left_out = 0
    for entry in walk(place, ignored=ignored, depth=depth, stop=stop):
        is_last = not entry.is_folder or entry.path.count("/") + 1 == depth
        if not is_last or wanted.fullmatch(entry.path) is None:
            continue
        if len(lines) == _MAX_PATHS:
            left_out += 1
        else:
            lines.append(prefix + _line(entry))
    if left_out:
        lines.append(f"[{left_out:,} more were left out; give a path, a glob or a depth]")
    return "\n".join(lines) or f"[nothing found in {place.shown}]"


def _glob_filter(glob: str) -> re.Pattern[str]:
    """Matches the paths of the argument `glob`; all paths if it is empty."""
    if ".." in glob.split("/"):
        raise ToolError(f"'{glob}' contains '..'. Give another path instead.")
    return re.compile(glob_regex(glob) if glob else ".*", re.DOTALL)


def _line(entry: FolderEntry) -> str:
    return entry.shown + ("/" if entry.is_folder else "@" if entry.is_link else "")


class SelectedFiles(Struct, frozen=True):
    """The files to search, as they are shown, and how many a permission rule excluded."""

    files: tuple[str, ...]
    excluded: int


def select_files(
    place: ResolvedPath, wanted: SearchFiles, may_read: Callable[[str], bool], stop: ShouldStop
) -> SelectedFiles:
    """The files that match the arguments and that permission rules allow to read."""
    if not is_folder(place):
        with open_file(place):  # raises for a pipe or device, which a search would wait for
            return SelectedFiles((place.shown,), 0)
    glob = _glob_filter(wanted.glob)
    prefix = place.prefix
    shown = [
        prefix + entry.path
        for entry in walk(place, ignored=wanted.ignored, stop=stop)
        if entry.is_text and not (entry.is_folder or entry.is_link or entry.is_special)
        if glob.fullmatch(entry.path)
    ]
    files = tuple(path for path in shown if may_read(path))
    return SelectedFiles(files, len(shown) - len(files))


async def search_files(
    place: ResolvedPath,
    wanted: SearchFiles,
    selected: SelectedFiles,
    environment: Mapping[str, str],
) -> str:
    """Every matching line, with its file and number, and the lines around it.

    Raises `ToolError` if the pattern is invalid or the search fails.
    """
    ripgrep = shutil.which("rg", path=environment.get("PATH"))
    found: list[str] = []
    space_left = MAX_RESULT_BYTES
    notes: list[str] = []
    for files in _batches(selected.files):
        if ripgrep:
            result = await _ripgrep(ripgrep, place, wanted, files, environment, space_left)
        else:
            result = await _python(place, wanted, files, environment, space_left)
        found.append(result.output)
        space_left -= len(result.output)
        if result.status is None:
            notes.append(f"stopped after {_TIMEOUT} seconds; give a path or a glob")
            break
        if space_left <= 0:
            notes.append("there is more; give a path, a glob or a narrower pattern")
            break
    if selected.excluded:
        notes.append(
            f"{selected.excluded} files were not searched: a permission rule excludes them"
        )
    text = _BINARY.sub("", truncate("".join(found)).replace("\r\n", "\n")).rstrip("\n")
    if not text:
        count = len(selected.files)
        notes.insert(0, f"no match in {counted(count, 'file')}")
    return "\n".join([*([text] if text else []), *(f"[{note}]" for note in notes)])


def _batches(files: Sequence[str]) -> Iterator[Sequence[str]]:
    batch: list[str] = []
    used = 0
    for file in files:
        length = len(os.fsencode(file)) + 16
        if batch and used + length > _MAX_ARGUMENTS:
            yield batch
            batch, used = [], 0
        batch.append(file)
        used += length
    if batch:
        yield batch


async def _ripgrep(
    program: str,
    place: ResolvedPath,
    wanted: SearchFiles,
    files: Sequence[str],
    environment: Mapping[str, str],
    space_left: int,
) -> ProgramResult:
    options = [*_RIPGREP, f"--context={wanted.context}", "--regexp", wanted.pattern]
    if wanted.ignore_case:
        options.append("--ignore-case")
    result = await run_program(
        [program, *options, "--", *files],
        folder=place.root,
        environment=environment,
        seconds=_TIMEOUT,
        max_bytes=space_left,
    )
    if result.status == 2 and result.errors:
        raise ToolError(f"The search failed: {result.errors.strip()[:1_000]}")
    return result


async def _python(
    place: ResolvedPath,
    wanted: SearchFiles,
    files: Sequence[str],
    environment: Mapping[str, str],
    space_left: int,
) -> ProgramResult:
    names = tuple((file, os.path.join(place.root, file)) for file in files)
    task = SearchTask(place.root, wanted.pattern, names, wanted.context, wanted.ignore_case)
    result = await run_program(
        [sys.executable, "-P", "-m", "sapwood.workspace.tools.python_search"],
        folder=place.root,
        environment=environment,
        seconds=_TIMEOUT,
        stdin=msgspec.json.encode(task),
        max_bytes=space_left,
    )
    if result.status == 2:
        raise ToolError(f"pattern is not a regular expression: {result.errors.strip()[:1_000]}.")
    if result.status:
        raise ToolError(f"The search failed: {result.errors.strip()[-1_000:]}")
    return result
