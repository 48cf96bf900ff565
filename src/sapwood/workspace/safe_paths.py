"""Places in a workspace: paths resolved, checked, and opened as what was checked.

A path is resolved once, its symlinks followed, and judged by where it leads. It is then opened
folder by folder without following any symlink: the resolved path has none, so one that is met is
one that was put there in between, and nothing is opened.

Opens an absolute path step by step without following a symlink.

What the descriptor stands for cannot be exchanged afterwards, as a path can.

Characters that hide or reorder text: refused in commands and paths, which people approve. Pure.

A person who approves a command has to see what runs. A terminal acts on control characters, and
bidirectional overrides show text in another order than that in which it is run.
"""

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import IO

from msgspec import Struct

from sapwood.core.refusals import nearest
from sapwood.core.settings import Workspace
from sapwood.workspace.tool_output import ToolError

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe that nobody writes to would wait forever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class ResolvedPath(Struct, frozen=True):
    """Where a path leads: `real` has no symlink in it. `shown` is how rules and people see it."""

    root: str
    real: str
    given: str

    @property
    def is_inside(self) -> bool:
        return self.real == self.root or self.real.startswith(self.root.rstrip("/") + "/")

    @property
    def shown(self) -> str:
        return os.path.relpath(self.real, self.root) if self.is_inside else self.real

    @property
    def prefix(self) -> str:
        """What stands before the paths of what is in this folder."""
        shown = self.shown
        return "" if shown == "." else shown.rstrip("/") + "/"

    @property
    def top(self) -> str:
        """The folder from which the place is opened step by step."""
        return self.root if self.is_inside else "/"

    @property
    def steps(self) -> list[str]:
        below = os.path.relpath(self.real, self.top)
        return [] if below == "." else below.split("/")


def root_of(workspace: Workspace) -> str:
    """The folder an agent works in, without symlinks."""
    folder = workspace.worktree or workspace.folder
    if not folder:
        raise ToolError("This agent has no workspace, so there are no files. Tell the user.")
    root = os.path.realpath(os.path.expanduser(folder))
    if not os.path.isdir(root):
        raise ToolError(f"The workspace {folder} does not exist any more. Tell the user.")
    return root


def locate(root: str, given: str) -> ResolvedPath:
    """Where a path of a model's leads."""
    if not given:
        raise ToolError("The path is empty. Give a path.")
    require_visible(given, "path")
    if ".." in given.split("/"):
        raise ToolError(f"'{given}' contains '..'. Give the path from the workspace's folder down.")
    return ResolvedPath(root, real_path(os.path.join(root, os.path.expanduser(given))), given)


def real_path(path: str) -> str:
    """The path without symlinks; the path itself, if it has more of them than can be followed.

    Python follows a link by calling itself, and a command can make a chain that is too long for it.
    The system follows no such chain either, so nothing is reached by what is returned then.
    """
    try:
        return os.path.realpath(path)
    except RecursionError:
        return os.path.abspath(path)


@contextmanager
def open_folder(place: ResolvedPath) -> Generator[int]:
    """A descriptor of the folder, readable."""
    with _descend(place, place.steps) as folder:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


@contextmanager
def open_parent(place: ResolvedPath, make: bool = False) -> Generator[tuple[int, str]]:
    """A descriptor of the folder that holds the place, and the name in it."""
    if not place.steps:
        raise ToolError(f"'{place.given}' is a folder. Give the path of a file.")
    with _descend(place, place.steps[:-1], make) as folder:
        yield folder, place.steps[-1]


@contextmanager
def open_file(place: ResolvedPath) -> Generator[IO[bytes]]:
    """The file, for reading. Only a regular one: others may wait forever, or do things."""
    with open_parent(place) as (folder, name):
        try:
            descriptor = os.open(name, _FILE, dir_fd=folder)
        except OSError as error:
            raise _tool_error(place, error, folder) from error
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        if stat.S_ISDIR(kind):
            raise ToolError(f"{place.shown} is a folder. list_files shows what is in it.")
        raise ToolError(f"{place.shown} is not a file but a device, pipe or socket.")
    with os.fdopen(descriptor, "rb") as file:
        yield file


def is_folder(place: ResolvedPath) -> bool:
    """Whether a folder is there. Raises `ToolError` if nothing is."""
    if not place.steps:
        return True
    with open_parent(place) as (folder, name):
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise _tool_error(place, error, folder) from error
    return stat.S_ISDIR(found.st_mode)


@contextmanager
def _descend(place: ResolvedPath, steps: list[str], make: bool = False) -> Generator[int]:
    current = _open_top(place.top)
    try:
        for step in steps:
            try:
                following = _enter(current, step, make)
            except OSError as error:
                raise _tool_error(place, error, None) from error
            os.close(current)
            current = following
        yield current
    finally:
        os.close(current)


def _open_top(top: str) -> int:
    """A descriptor of the folder at the top, in whose path no symlink was put meanwhile."""
    if not hasattr(os, "O_PATH"):  # then a folder above could be entered, but not opened
        return os.open(top, _FOLDER & ~os.O_NOFOLLOW)
    current = os.open("/", _FOLDER)
    for step in filter(None, top.split("/")):
        try:
            following = os.open(step, _FOLDER, dir_fd=current)
        finally:
            os.close(current)
        current = following
    return current


def _enter(folder: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # somebody else made it; what it is shows when it is entered
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _tool_error(place: ResolvedPath, error: OSError, folder: int | None) -> ToolError:
    match error.errno:
        case errno.ENOENT:
            return ToolError(f"There is no {place.shown}.{_did_you_mean(place, folder)}")
        case errno.ELOOP:
            return ToolError(f"{place.shown} is a broken symlink, or just became one.")
        case errno.ENOTDIR:
            return ToolError(f"{place.shown} runs through something that is not a folder.")
        case errno.EACCES | errno.EPERM:
            return ToolError(f"The system does not permit access to {place.shown}.")
        case _:
            return ToolError(f"{place.shown} cannot be opened: {error.strerror}.")


def _did_you_mean(place: ResolvedPath, folder: int | None) -> str:
    if folder is None:
        return " Its folder does not exist. To see what does, call list_files."
    try:
        readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return ""
    try:
        names = sorted(os.listdir(readable))[:10_000]
    finally:
        os.close(readable)
    parent = os.path.dirname(place.shown)
    close = [os.path.join(parent, name) for name in nearest(place.steps[-1], names)]
    return (
        f" Did you mean {' or '.join(close)}?" if close else " To see what exists, call list_files."
    )


_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC


def open_path(path: str) -> int:
    """A descriptor of a file or folder. Raises `OSError` if a part of the path is a symlink."""
    current = os.open("/", _STEP | os.O_DIRECTORY)
    steps = [step for step in path.split("/") if step]
    for number, step in enumerate(steps, 1):
        last = number == len(steps)
        try:
            following = os.open(step, _STEP if last else _STEP | os.O_DIRECTORY, dir_fd=current)
        finally:
            os.close(current)
        current = following
    return current


@contextmanager
def folder_handle(path: str) -> Generator[int]:
    """A descriptor of a folder for the functions that take `dir_fd`, closed afterwards."""
    handle = open_path(path)
    try:
        yield handle
    finally:
        os.close(handle)


def make_accessible(path: str) -> None:
    """Gives the owner of a folder all rights to it. A command may have taken them away."""
    if os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return
    with suppress(OSError), folder_handle(path) as handle:
        # The descriptor has no rights of its own, so the folder is named by it.
        mode = stat.S_IMODE(os.fstat(handle).st_mode) | stat.S_IRWXU
        os.chmod(f"/proc/self/fd/{handle}", mode)


_BIDI = "\u202a-\u202e\u2066-\u2069"
_IN_PATHS = re.compile(f"[\x00-\x1f\x7f-\x9f{_BIDI}\ud800-\udfff]")
_IN_COMMANDS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\ud800-\udfff]")
_NAMES = {
    "\0": "a null character",
    "\x1b": "an escape character",
    "\n": "a new line",
    "\t": "a tab",
}


def require_visible(text: str, what: str, *, lines: bool = False) -> None:
    """Raises `ToolError` if the text contains a control character, an override or half a character.

    `what` names the text in the message. With `lines`, new lines and tabs are accepted.

    >>> require_visible("git status\\n\\tgit diff", "command", lines=True)
    >>> require_visible("git status\\x1b]", "command", lines=True)
    Traceback (most recent call last):
    ...
    sapwood.workspace.tool_output.ToolError: The command contains an escape character (U+001B) ...
    """
    found = (_IN_COMMANDS if lines else _IN_PATHS).search(text)
    if found is None:
        return
    name = _NAMES.get(found[0]) or _description(found[0])
    raise ToolError(
        f"The {what} contains {name} (U+{ord(found[0]):04X}) at position {found.start() + 1}, "
        "which would not be visible to the user. Nothing was done. Send it without."
    )


def _description(char: str) -> str:
    if "\ud800" <= char <= "\udfff":
        return "half of a surrogate pair"
    name = unicodedata.name(char, "")
    return f"the character {name}" if name else "a control character"
