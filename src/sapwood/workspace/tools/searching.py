"""`search_files`: a regular expression in the files that `list_files` shows.

The files are chosen here, so that ignore files, symlinks and permission rules count the same
whoever searches: ripgrep if it is installed, Python if not.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from sapwood.workspace.bounds import MOST, cut
from sapwood.workspace.errors import ToolError
from sapwood.workspace.places import Place, folder_of
from sapwood.workspace.processes import Ended, run_program
from sapwood.workspace.tools.arguments import SearchFiles
from sapwood.workspace.tools.listing import glob_filter
from sapwood.workspace.tools.scanning import Scan
from sapwood.workspace.walking import Stop, walk

__all__ = ["Searched", "choose_files", "search_files"]

_TIMEOUT = 60
_ARGUMENTS = 500_000
"""Bytes of file names in one call of ripgrep: systems bound what a program may be given."""
_RIPGREP = (
    "--no-config --no-ignore --hidden --no-heading --with-filename --line-number --color=never "
    "--crlf --engine=auto --threads=1 --max-columns=1000 --max-columns-preview --no-messages"
).split()


_BINARY = re.compile(r"^.*: binary file matches \(found .*\)\n?", re.MULTILINE)
"""What ripgrep says of a file that is not text, which `read_file` could not show either."""


class Searched(Struct, frozen=True):
    """The files to search, as they are shown, and how many were kept out by a rule."""

    files: tuple[str, ...]
    kept_out: int


def choose_files(
    place: Place, wanted: SearchFiles, may_read: Callable[[str], bool], stop: Stop
) -> Searched:
    """The files that the arguments mean and the rules allow to be read."""
    if not folder_of(place):
        return Searched((place.shown,), 0)
    glob = glob_filter(wanted.glob)
    prefix = place.prefix
    shown = [
        prefix + entry.path
        for entry in walk(place, ignored=wanted.ignored, stop=stop)
        if entry.is_text and not entry.is_folder and not entry.is_link
        if glob.fullmatch(entry.path)
    ]
    files = tuple(path for path in shown if may_read(path))
    return Searched(files, len(shown) - len(files))


async def search_files(
    place: Place, wanted: SearchFiles, searched: Searched, environment: Mapping[str, str]
) -> str:
    """Every line that fits, with its file and number, and lines around it."""
    ripgrep = shutil.which("rg", path=environment.get("PATH"))
    found: list[str] = []
    room = MOST
    notes: list[str] = []
    for files in _batches(searched.files):
        if ripgrep:
            ended = await _ripgrep(ripgrep, place, wanted, files, environment, room)
        else:
            ended = await _python(place, wanted, files, environment, room)
        found.append(ended.output)
        room -= len(ended.output)
        if ended.status is None:
            notes.append(f"stopped after {_TIMEOUT} seconds; give a path or a glob")
            break
        if room <= 0:
            notes.append("there is more; give a path, a glob or a narrower pattern")
            break
    if searched.kept_out:
        notes.append(f"{searched.kept_out} files were not searched: a rule keeps them")
    text = _BINARY.sub("", cut("".join(found)).replace("\r\n", "\n")).rstrip("\n")
    if not text:
        count = len(searched.files)
        notes.insert(0, f"no match in {count:,} file{'' if count == 1 else 's'}")
    return "\n".join([*([text] if text else []), *(f"[{note}]" for note in notes)])


def _batches(files: Sequence[str]) -> Iterator[Sequence[str]]:
    batch: list[str] = []
    used = 0
    for file in files:
        length = len(os.fsencode(file)) + 16
        if batch and used + length > _ARGUMENTS:
            yield batch
            batch, used = [], 0
        batch.append(file)
        used += length
    if batch:
        yield batch


async def _ripgrep(
    program: str,
    place: Place,
    wanted: SearchFiles,
    files: Sequence[str],
    environment: Mapping[str, str],
    room: int,
) -> Ended:
    options = [*_RIPGREP, f"--context={wanted.context}", "--regexp", wanted.pattern]
    if wanted.ignore_case:
        options.append("--ignore-case")
    ended = await run_program(
        [program, *options, "--", *files],
        folder=place.root,
        environment=environment,
        seconds=_TIMEOUT,
        most=room,
    )
    if ended.status == 2 and ended.errors:
        raise ToolError(f"The search failed: {ended.errors.strip()[:1_000]}")
    return ended


async def _python(
    place: Place,
    wanted: SearchFiles,
    files: Sequence[str],
    environment: Mapping[str, str],
    room: int,
) -> Ended:
    names = tuple((file, os.path.join(place.root, file)) for file in files)
    scan = Scan(place.root, wanted.pattern, names, wanted.context, wanted.ignore_case)
    ended = await run_program(
        [sys.executable, "-P", "-m", "sapwood.workspace.tools.scanning"],
        folder=place.root,
        environment=environment,
        seconds=_TIMEOUT,
        given=msgspec.json.encode(scan),
        most=room,
    )
    if ended.status == 2:
        raise ToolError(f"pattern is not a regular expression: {ended.errors.strip()[:1_000]}.")
    if ended.status:
        raise ToolError(f"The search failed: {ended.errors.strip()[-1_000:]}")
    return ended
