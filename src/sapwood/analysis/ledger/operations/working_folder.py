"""Paths in a ledger, and the folder in which each command of a session ran.

A `cd` is effective to the end of its line or subshell. Some programs keep the folder for the next
line too, and report when they go back to the first one.
"""

import re
from collections.abc import Sequence

from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome
from sapwood.analysis.ledger.operations.operation import CommandLineRan
from sapwood.analysis.ledger.operations.simple_commands import (
    ShellWord,
    SimpleCommand,
    changes_folder,
    without_wrappers,
)

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_FOLDER_RESET = re.compile(r"(?m)^Shell cwd was reset to (\S.*?)\s*\Z")
_HOME = "~"


def join_path(folder: str, path: str) -> str:
    """Returns a path relative to what the folder is relative to, without `.` and `..`.

    >>> join_path("app", "../x.py"), join_path("", "./x.py"), join_path("app", "/tmp/x")
    ('x.py', 'x.py', '/tmp/x')
    """
    path = path.removeprefix("file://")
    if _DRIVE.match(path) or "\\" in folder:
        path = path.replace("\\", "/")
    is_absolute = path.startswith(("/", "~")) or bool(_DRIVE.match(path))
    return _normalized(path if is_absolute or not folder else f"{folder}/{path}")


def relative_path(path: str, folder: str) -> str:
    """Returns a path relative to the session's folder; a path outside of it stays absolute.

    >>> relative_path("/srv/shop/src/a.py", "/srv/shop/")
    'src/a.py'
    >>> relative_path("/srv/shopping/a", "/srv/shop")
    '/srv/shopping/a'
    """
    path, base = join_path("", path), _normalized(folder.replace("\\", "/"))
    if base and path.startswith(base.rstrip("/") + "/"):
        return path[len(base.rstrip("/")) + 1 :]
    return "." if base and path == base else path


def command_folders(
    commands: Sequence[SimpleCommand], folder: str, outcome: CallOutcome
) -> list[str]:
    """Returns the folder in which each command ran, then the folder in which the line ended."""
    shells, previous = [folder], folder
    folders: list[str] = []
    for index, command in enumerate(commands):
        while len(shells) <= command.depth:
            shells.append(shells[-1])
        del shells[command.depth + 1 :]
        current = shells[-1]
        folders.append(current)
        failed = outcome.status == "failed" and index == len(commands) - 1
        if changes_folder(command) and not failed and _is_effective(command, outcome.output):
            shells[-1] = _folder_after_cd(without_wrappers(command.words), current, previous)
            previous = current
    return [*folders, shells[0]]


class WorkingFolder:
    """Tracks the folder in which the next command line of a session starts."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._kept = folder

    def folder_of(
        self, line: CommandLineRan, commands: Sequence[SimpleCommand], outcome: CallOutcome
    ) -> str:
        """Returns the folder in which a line started, and remembers where it ended."""
        start = self._kept if line.keeps_folder else self._folder
        folder = join_path(start, line.folder) if line.folder else start
        if line.keeps_folder:
            self._kept = _folder_after_line(commands, folder, outcome)
        return folder


def _normalized(path: str) -> str:
    root = "/" if path.startswith("/") else ""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part == ".." and root:
            continue
        elif part not in ("", "."):
            parts.append(part)
    return root + "/".join(parts) or ("." if path else "")


def _folder_after_line(commands: Sequence[SimpleCommand], folder: str, outcome: CallOutcome) -> str:
    if outcome.handle:
        return folder  # a line in the background runs in a shell of its own
    if reset := _FOLDER_RESET.search(outcome.output[-1_000:]):
        return reset[1]
    return command_folders(commands, folder, outcome)[-1]


def _is_effective(command: SimpleCommand, output: str) -> bool:
    """Whether a `cd` changed the folder: it did not fail, and is neither piped nor a fallback."""
    if command.before in ("|", "|&", "||") or command.after in ("|", "|&", "&"):
        return False
    return "cd: " not in output or not any(f"cd: {text}: " in output for text in command.texts)


def _folder_after_cd(words: Sequence[ShellWord], current: str, previous: str) -> str:
    if len(words) == 1 and words[0].text == "cd":
        return _HOME
    if [word.text for word in words[1:]] == ["-"]:
        return previous
    targets = [word for word in words[1:] if not word.text.startswith("-")]
    return join_path(current, targets[0].text) if targets and targets[0].plain else current
