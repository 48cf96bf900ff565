"""When a program compacts in one project: values in the program's own settings of that folder.

A record has what was there before, so that uninstalling removes exactly what Sapwood set.
"""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from sapwood.programs.installation.file_edits import (
    FileEdit,
    InstallError,
    read_bytes,
    record_file,
)
from sapwood.programs.program import Program

AutomaticChoice = Literal["on", "off", "ask"]
"""Whether a program compacts by itself, or its user is asked."""


class ProjectSettings(Struct, frozen=True):
    """A settings file of a project: its content before, the user's choice, and Sapwood's values."""

    before: bytes | None
    at: int = 0
    automatic: AutomaticChoice = "on"
    values: dict[str, int | bool] = {}


class ProjectPlan(Struct, frozen=True):
    """The edits of settings files and of the record, and notes for the user."""

    edits: tuple[FileEdit, ...]
    notes: tuple[str, ...] = ()


def _records(agent: Program) -> dict[str, ProjectSettings]:
    content = read_bytes(project_record_file(agent))
    try:
        return msgspec.json.decode(content or b"{}", type=dict[str, ProjectSettings])
    except msgspec.MsgspecError:
        return {}


def project_record_file(agent: Program) -> Path:
    """The file that says in which projects Sapwood has set something."""
    return record_file(f"{agent.name}-projects")


def chosen_automatic(agent: Program, folder: str) -> AutomaticChoice:
    """What the user chose for one folder; "on" if they chose nothing there."""
    record = _records(agent).get(str(agent.project_file(Path(folder).resolve())))
    return record.automatic if record else "on"


def plan_project(agent: Program, folder: Path, name: str, value: object) -> ProjectPlan:
    """Plans to set `at` or `automatic` of `compaction` for one folder; None removes it.

    Raises `InstallError` if the settings file cannot be edited.
    """
    path, records = agent.project_file(folder), _records(agent)
    current = read_bytes(path)
    old = records.get(str(path)) or ProjectSettings(current)
    at = old.at if name != "at" else value if isinstance(value, int) else 0
    chosen = old.automatic if name != "automatic" else value or "on"
    automatic = "on" if chosen == "on" else "ask" if chosen == "ask" else "off"
    values, note = agent.hooks.compaction_values(at, automatic == "on")
    after = agent.installer.with_values(path, current or b"", values, old.values)
    kept = (
        old.before
        if not values and agent.installer.same_settings(after, old.before or b"")
        else after
    )
    records[str(path)] = ProjectSettings(old.before, at, automatic, values)
    if not values:
        del records[str(path)]
    file = project_record_file(agent)
    stored = msgspec.json.encode(records) if records else None
    edits = [FileEdit(path, current, kept)] if kept != current else []
    edits.append(FileEdit(file, read_bytes(file), stored, private=True))
    return ProjectPlan(tuple(edits), (note,) if note else ())


def restored_projects(agent: Program) -> ProjectPlan:
    """Plans to remove everything that Sapwood set in projects, and the record of it.

    A settings file that cannot be edited stays as it is; a note says what to remove from it.
    """
    edits: list[FileEdit] = []
    notes: list[str] = []
    for name, record in _records(agent).items():
        try:
            edits += _restored(agent, Path(name), record)
        except InstallError as error:
            values = ", ".join(
                f"{each} = {msgspec.json.encode(value).decode()}"
                for each, value in record.values.items()
            )
            notes.append(f"{error} Remove from it by hand what Sapwood set: {values}.")
    file = project_record_file(agent)
    if (stored := read_bytes(file)) is not None:
        edits.append(FileEdit(file, stored, None))
    return ProjectPlan(tuple(edits), tuple(notes))


def _restored(agent: Program, path: Path, record: ProjectSettings) -> list[FileEdit]:
    """The edit of one settings file, if there is one. Raises `InstallError`."""
    current = read_bytes(path)
    if current is None:
        return []
    remaining = agent.installer.with_values(path, current, {}, record.values)
    if agent.installer.same_settings(remaining, record.before or b""):
        return [FileEdit(path, current, record.before)]
    return [FileEdit(path, current, remaining)] if remaining != current else []
