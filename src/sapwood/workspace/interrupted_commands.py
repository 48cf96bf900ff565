"""Undoes what commands made that were still running when Sapwood ended.

    python -m sapwood.workspace.interrupted_commands STATE

A process that is killed cannot look at what its command left. So a shell waits beside each command
in the sandbox; when Sapwood ends before it, the shell runs this module. Where that cannot be, as
after a power cut, the next command of the workspace does the same before it starts.
"""

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sapwood.private_files import replace_file
from sapwood.workspace.command_baseline import forget_baseline, kept_baseline
from sapwood.workspace.command_cleanup import CommandCleanup
from sapwood.workspace.command_group import command_group
from sapwood.workspace.mount_points import remove_mount_points
from sapwood.workspace.nested_repositories import NestedRepositories
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.tool_output import ToolError

_WAIT = 'read -r _; exec "$@"'
"""Waits for the end of its input, which is that of the process that started it."""
_MOMENT = 0.5
"""Seconds that the system has to end a command whose Sapwood was killed."""


def undo_interrupted(state: Path, guards: PathGuards, is_alone: bool) -> None:
    """Undoes what is still to be undone in a workspace.

    `state` is the stem of the files about the workspace. What its commands need that run stays,
    unless none does: then `is_alone` is true.
    """
    if is_alone:
        remove_mount_points(state)
    notes: list[str] = []
    try:
        if (baseline := kept_baseline(state)) is None:
            return
        notes = CommandCleanup(baseline, guards, NestedRepositories(baseline.root)).undo()
    except (OSError, ToolError) as error:
        notes = [
            f"What it made could not be looked at ({error}) Tell the user to look at new files "
            "before they use git."
        ]
    if notes:
        kept = (*_read(state), "An earlier command was interrupted.", *notes)
        replace_file(_notes(state), json.dumps(kept))
    if is_alone:
        forget_baseline(state)


def take_notes(state: Path) -> list[str]:
    """The sentences about what was undone, once."""
    notes = _read(state)
    _notes(state).unlink(missing_ok=True)
    return notes


@contextmanager
def undone_after_a_crash(state: Path) -> Generator[None]:
    """Has another process undo what a command makes in the block if this process ends in it."""
    # -P: nothing is imported from the folder that this process is in, which can be a workspace.
    module = [sys.executable, "-P", "-m", __name__, str(state)]
    with subprocess.Popen(
        ["/bin/sh", "-c", _WAIT, "sh", *module],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what ends Sapwood's group does not end this
    ) as waiting:
        try:
            yield
        finally:
            waiting.kill()


def main(state: Path) -> None:
    """Undoes what interrupted commands made."""
    time.sleep(_MOMENT)
    with command_group(state) as group, group.changing() as is_alone:
        undo_interrupted(state, PathGuards(), is_alone)


def _read(state: Path) -> list[str]:
    try:
        return list(json.loads(_notes(state).read_bytes()))
    except (FileNotFoundError, ValueError):
        return []


def _notes(state: Path) -> Path:
    return state.with_name(f"{state.name}.notes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
