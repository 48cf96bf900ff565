"""Installing: what it would change as a plan, and carrying the plan out."""

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from sapwood.app.installing.agents import Agent
from sapwood.app.installing.edits import Edit, make_edits, missing_folders, read_bytes
from sapwood.app.installing.plan import Plan
from sapwood.app.installing.plugin_files import own_command, plugin_files, plugin_version
from sapwood.app.installing.records import (
    Record,
    SettingsRecord,
    fingerprint,
    read_record,
    record_file,
)

__all__ = ["carry_out_install", "plan_install"]

_NO_SERVER = (
    "The agent's own tool `context` needs one more package. Type: pip install 'sapwood[mcp]'"
)


def plan_install(
    agent: Agent, environ: Mapping[str, str] = os.environ, command: Sequence[str] | None = None
) -> Plan:
    """What installing changes. No edits means that all is there already."""
    command = command or own_command()
    folders = agent.folders(environ)
    shipped = plugin_files(command)
    wanted = {folder / name: shipped[name] for folder in folders for name in shipped}
    files = [
        Edit(path, before, content)
        for path, content in wanted.items()
        if (before := read_bytes(path)) != content
    ]
    settings, notes = agent.settings(environ, command)
    if find_spec("mcp") is None:
        notes = (*notes, _NO_SERVER)
    return Plan((*files, *_outdated(agent, wanted)), settings, folders, notes)


def _outdated(agent: Agent, wanted: Iterable[Path]) -> list[Edit]:
    """Files of an earlier version that this one does not have."""
    record = read_record(agent.name)
    old = {Path(path) for path in record.files} if record else set[Path]()
    return [
        Edit(path, before, None)
        for path in sorted(old - set(wanted))
        if (before := read_bytes(path)) is not None
    ]


def carry_out_install(agent: Agent, plan: Plan) -> None:
    """Makes the edits and remembers what was there before."""
    file = record_file(agent.name)
    stored = msgspec.json.format(msgspec.json.encode(_record(agent, plan)), indent=1)
    make_edits([Edit(file, read_bytes(file), stored), *plan.edits])


def _record(agent: Agent, plan: Plan) -> Record:
    old = read_record(agent.name) or Record(agent.name, "")
    made = (str(folder) for folder in missing_folders(plan.edits))
    files = {*old.files, *(str(edit.path) for edit in plan.files if edit.after is not None)}
    gone = {str(edit.path) for edit in plan.files if edit.after is None}
    return Record(
        agent.name,
        plugin_version(),
        tuple(sorted(files - gone)),
        _settings_record(plan.settings, old.settings),
        tuple(dict.fromkeys((*old.folders, *made))),
    )


def _settings_record(edit: Edit | None, old: SettingsRecord | None) -> SettingsRecord | None:
    """What was before the first installation stays known through every later one."""
    if edit is None or edit.after is None:
        return old
    before = old.before if old is not None else edit.before
    return SettingsRecord(str(edit.path), before, fingerprint(edit.after))
