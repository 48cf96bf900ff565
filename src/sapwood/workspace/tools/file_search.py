"""`list_files` and `search_files`: paths, and lines that match a regular expression.

`select_files` chooses the files, so that ignore files, symlinks and permission rules have the same
effect whether ripgrep searches, or Python where ripgrep is not installed. Each is opened without
following a symlink: a command that runs meanwhile may have put one in its place.
"""

import os
import re
import resource
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import Struct, structs

from sapwood.core.plural import counted
from sapwood.workspace.file_walk import FolderEntry, ShouldStop, walk
from sapwood.workspace.globs import glob_regex
from sapwood.workspace.programs import ProgramResult, run_program
from sapwood.workspace.safe_paths import ResolvedPath, is_folder, open_file, open_folder
from sapwood.workspace.thread_context import in_threads
from sapwood.workspace.tool_output import MAX_RESULT_BYTES, ToolError, truncate
from sapwood.workspace.tools import file_opener
from sapwood.workspace.tools.python_search import SearchTask
from sapwood.workspace.tools.tool_arguments import SearchFiles

_MAX_PATHS = 20_000
_TIMEOUT = 60
_MAX_FILES = 1_000
"""How many files one call of ripgrep gets, which are all open: systems limit open files."""
_RIPGREP = (
    "--no-config --no-ignore --hidden --no-heading --with-filename --line-number --color=never "
    "--crlf --engine=auto --threads=1 --max-columns=1000 --max-columns-preview --no-messages"
).split()
_BINARY = re.compile(r"^.*: binary file matches \(found .*\)\n?", re.MULTILINE)
"""What ripgrep prints for a file that is not text; `read_file` could not show it either."""
_HANDLE = re.compile(r"^/dev/fd/(\d{1,9})(?=[:-])", re.MULTILINE)
"""The name of a file at the beginning of each line of ripgrep."""


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
    size = _files_at_once() if ripgrep else len(selected.files)
    search = partial(_ripgrep, ripgrep) if ripgrep else _python
    found: list[str] = []
    space_left = MAX_RESULT_BYTES
    ends = time.monotonic() + _TIMEOUT
    notes: list[str] = []
    for start in range(0, len(selected.files), size or 1):
        files = selected.files[start : start + size]
        seconds = max(0.0, ends - time.monotonic())
        result, used = await search(place, wanted, files, environment, seconds, space_left)
        if result.output:
            found.append(result.output)
        space_left -= used
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
    text = _BINARY.sub(
        "", truncate(("--\n" if wanted.context else "").join(found)).replace("\r\n", "\n")
    ).rstrip("\n")
    if not text:
        count = len(selected.files)
        notes.insert(0, f"no match in {counted(count, 'file')}")
    return "\n".join([*([text] if text else []), *(f"[{note}]" for note in notes)])


async def _ripgrep(
    program: str,
    place: ResolvedPath,
    wanted: SearchFiles,
    files: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    space_left: int,
) -> tuple[ProgramResult, int]:
    """Has ripgrep search files that are open already, because it would follow links in paths.

    Returns also how much of the space was used.
    """
    options = [*_RIPGREP, f"--context={wanted.context}", "--regexp", wanted.pattern]
    if wanted.ignore_case:
        options.append("--ignore-case")
    async with in_threads(open_folder(ResolvedPath(place.top, place.top, "."))) as folder:
        opener = [sys.executable, "-I", "-S", file_opener.__file__, str(folder)]
        result = await run_program(
            [*opener, program, *options, "--"],
            folder=place.root,
            environment=environment,
            seconds=seconds,
            stdin=b"".join(os.fsencode(file.lstrip("/")) + b"\0" for file in files),
            max_bytes=space_left,
            handles=(folder,),
        )
    if result.status == file_opener.FAILED and result.errors:
        raise ToolError(f"The search failed: {result.errors.strip()[:1_000]}")
    output = _named(result.output, dict(enumerate(files, file_opener.FIRST)), space_left)
    return structs.replace(result, output=output), max(len(result.output), len(output))


def _named(output: str, names: Mapping[int, str], space_left: int) -> str:
    """The output with names in place of descriptors, which a long name can make much longer."""
    pieces: list[str] = []
    at = used = 0
    for found in _HANDLE.finditer(output):
        name = names.get(int(found[1]), found[0])
        pieces += [output[at : found.start()], name]
        used += found.start() - at + len(name)
        at = found.end()
        if used > space_left:
            return "".join(pieces)[:space_left] + "\n[the rest was left out]\n"
    return "".join([*pieces, output[at:]])


def _files_at_once() -> int:
    """How many files one call of ripgrep can have open here."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = _MAX_FILES + file_opener.FIRST + file_opener.SPARE
    return _MAX_FILES if hard == resource.RLIM_INFINITY else _MAX_FILES - max(0, most - hard)


async def _python(
    place: ResolvedPath,
    wanted: SearchFiles,
    files: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    space_left: int,
) -> tuple[ProgramResult, int]:
    names = tuple((file, os.path.join(place.root, file)) for file in files)
    task = SearchTask(place.root, wanted.pattern, names, wanted.context, wanted.ignore_case)
    result = await run_program(
        [sys.executable, "-P", "-m", "sapwood.workspace.tools.python_search"],
        folder=place.root,
        environment=environment,
        seconds=seconds,
        stdin=msgspec.json.encode(task),
        max_bytes=space_left,
    )
    if result.status == 2:
        raise ToolError(f"pattern is not a regular expression: {result.errors.strip()[:1_000]}.")
    if result.status:
        raise ToolError(f"The search failed: {result.errors.strip()[-1_000:]}")
    return result, len(result.output)
