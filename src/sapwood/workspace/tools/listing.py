"""`list_files`: paths, one a line."""

import re

from sapwood.workspace.errors import ToolError
from sapwood.workspace.globs import glob_regex
from sapwood.workspace.places import Place, folder_of
from sapwood.workspace.walking import Entry, Stop, walk

__all__ = ["glob_filter", "list_files"]

_MOST = 20_000


def list_files(place: Place, glob: str, depth: int, ignored: bool, stop: Stop) -> str:
    """The files of a folder, and its folders where the depth ends."""
    if not folder_of(place):
        return place.shown
    wanted = glob_filter(glob)
    prefix = place.prefix
    lines: list[str] = []
    left_out = 0
    for entry in walk(place, ignored=ignored, depth=depth, stop=stop):
        is_last = not entry.is_folder or entry.path.count("/") + 1 == depth
        if not is_last or wanted.fullmatch(entry.path) is None:
            continue
        if len(lines) == _MOST:
            left_out += 1
        else:
            lines.append(prefix + _line(entry))
    if left_out:
        lines.append(f"[{left_out:,} more were left out; give a path, a glob or a depth]")
    return "\n".join(lines) or f"[nothing found in {place.shown}]"


def glob_filter(glob: str) -> re.Pattern[str]:
    """Paths that the argument `glob` means; all, if it is empty."""
    if ".." in glob.split("/"):
        raise ToolError(f"'{glob}' holds '..'. Give another path instead.")
    return re.compile(glob_regex(glob) if glob else ".*", re.DOTALL)


def _line(entry: Entry) -> str:
    return entry.shown + ("/" if entry.is_folder else "@" if entry.is_link else "")
