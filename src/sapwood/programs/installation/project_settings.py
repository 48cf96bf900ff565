"""When a program compacts in one project: values in the program's own settings of that folder.

A record has what was there before, so that uninstalling removes exactly what Sapwood set.
"""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from sapwood.programs.installation.file_edits import FileEdit, read_bytes, record_file
from sapwood.programs.program import Program


class ProjectSettings(Struct, frozen=True):
    """A settings file of a project: its content before, the user's choice, and Sapwood's values."""

    before: bytes | None
    at: int = 0
    automatic: Literal["on", "off", "ask"] = "on"
    values: dict[str, int | bool] = {}


class ProjectPlan(Struct, frozen=True):
    """The edits of a settings file and of the record, and a note for the user."""

    edits: tuple[FileEdit, ...]
    note: str = ""


def _records(agent: Program) -> dict[str, ProjectSettings]:
    content = read_bytes(project_record_file(agent))
    try:
        return msgspec.json.decode(content or b"{}", type=dict[str, ProjectSettings])
    except msgspec.MsgspecError:
        return {}


def project_record_file(agent: Program) -> Path:
    """The file that says in which projects Sapwood has set something."""
    return record_file(f"{agent.name}-projects")


def plan_project(agent: Program, folder: Path, name: str, value: object) -> ProjectPlan:
    """Plans to set `at` or `automatic` of `compaction` for one folder; None removes it.

    Raises `InstallError` if the settings file cannot be edited.
    """
    path, records = agent.installer.project_file(folder), _records(agent)
    current = read_bytes(path)
    old = records.get(str(path)) or ProjectSettings(current)
    at = old.at if name != "at" else value if isinstance(value, int) else 0
    chosen = old.automatic if name != "automatic" else value or "on"
    automatic = "on" if chosen == "on" else "ask" if chosen == "ask" else "off"
    values, note = agent.hooks.compaction_values(at, automatic == "on")
    after = agent.installer.with_values(current or b"", values, old.values)
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
    return ProjectPlan((*edits, FileEdit(file, read_bytes(file), stored, private=True)), note)


def restored_projects(agent: Program) -> list[FileEdit]:
    """The edits that remove everything that Sapwood set in projects, and the record of it."""
    edits: list[FileEdit] = []
    for name, record in _records(agent).items():
        path = Path(name)
        if (current := read_bytes(path)) is None:
            continue
        remaining = agent.installer.with_values(current, {}, record.values)
        if agent.installer.same_settings(remaining, record.before or b""):
            edits.append(FileEdit(path, current, record.before))
        elif remaining != current:
            edits.append(FileEdit(path, current, remaining))
    file = project_record_file(agent)
    if (stored := read_bytes(file)) is not None:
        edits.append(FileEdit(file, stored, None))
    return edits
