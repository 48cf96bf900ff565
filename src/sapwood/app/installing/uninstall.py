"""Uninstalling: every file as it was, and no folder left behind.

A settings file that is as it was written gets its old bytes back. One that its program or its user
has changed since loses only what is ours; if it then says what it said before, it gets its old
bytes back too.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from sapwood.app.installing.agents import Agent
from sapwood.app.installing.edits import Edit, make_edits, read_bytes
from sapwood.app.installing.plan import Plan
from sapwood.app.installing.plugin_files import plugin_files
from sapwood.app.installing.records import (
    Record,
    SettingsRecord,
    fingerprint,
    read_record,
    record_file,
)

__all__ = ["carry_out_uninstall", "plan_uninstall"]


def plan_uninstall(agent: Agent, environ: Mapping[str, str] = os.environ) -> Plan:
    """What uninstalling changes. Without a record, what is ours is known by its place."""
    record = read_record(agent.name) or Record(agent.name, "")
    folders = agent.folders(environ)
    known = {folder / name for folder in folders for name in plugin_files(("sapwood",))}
    files = tuple(
        Edit(path, before, None)
        for path in sorted(known | {Path(path) for path in record.files})
        if (before := read_bytes(path)) is not None
    )
    made = (Path(folder) for folder in record.folders)
    inner = (each for path in known for each in path.parents if _is_within(each, folders))
    empty = (*inner, *agent.leftovers(environ), *made)
    return Plan(files, _settings(agent, record.settings, environ), folders, empty=empty)


def _settings(
    agent: Agent, record: SettingsRecord | None, environ: Mapping[str, str]
) -> Edit | None:
    path = Path(record.path) if record else agent.settings_file(environ)
    current = read_bytes(path)
    if current is None:
        return None
    restored = _restored(agent, path, current, record)
    return Edit(path, current, restored) if restored != current else None


def _restored(
    agent: Agent, path: Path, current: bytes, record: SettingsRecord | None
) -> bytes | None:
    if record is not None and fingerprint(current) == record.after:
        return record.before
    left = agent.without_us(path, current)
    if record is not None and agent.same(left, record.before or b""):
        return record.before
    return left


def carry_out_uninstall(agent: Agent, plan: Plan) -> None:
    """Makes the edits, forgets the installation, and removes folders that are empty now."""
    file = record_file(agent.name)
    make_edits([*plan.edits, Edit(file, read_bytes(file), None)])
    for folder in sorted({*plan.empty, file.parent}, key=_depth, reverse=True):
        with suppress(OSError):
            folder.rmdir()


def _is_within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _depth(folder: Path) -> int:
    return len(folder.parts)
