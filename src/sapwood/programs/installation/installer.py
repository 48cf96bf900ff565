"""Installs and uninstalls: plans the changes first, then applies the plan.

Uninstalling gives a settings file its old bytes back if it has not changed since, or if only
Sapwood's entries distinguish it from the old one. Otherwise it removes Sapwood's entries alone.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct, structs

from sapwood.programs.installation.file_edits import (
    FileEdit,
    apply_edits,
    missing_folders,
    read_bytes,
    record_file,
)
from sapwood.programs.installation.plugin_files import InstalledHook, own_command, plugin_version
from sapwood.programs.installation.project_settings import restored_projects
from sapwood.programs.program import Program


class InstallPlan(Struct, frozen=True):
    """The plugin files to write into Sapwood's `folders`, and the edit of the user's settings file.

    `notes` are for the user. `values` are those of the program's own settings that will be
    Sapwood's. `empty` are folders to remove if they are empty afterwards. `hooks` are those that
    the program calls then.
    """

    files: tuple[FileEdit, ...]
    settings: FileEdit | None
    folders: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    empty: tuple[Path, ...] = ()
    values: dict[str, int | bool] = {}
    hooks: tuple[InstalledHook, ...] = ()

    @property
    def edits(self) -> tuple[FileEdit, ...]:
        """All edits."""
        return self.files if self.settings is None else (*self.files, self.settings)


class SettingsRecord(Struct, frozen=True):
    """The settings file: its content before (None for no file), and a hash of the new content.

    The hash is empty if others changed the file between two edits by Sapwood.
    """

    path: str
    before: bytes | None
    after: str


class InstallRecord(Struct, frozen=True):
    """One installation: Sapwood's files, the user's settings file, and the folders it created.

    `values` are those of the program's own settings that Sapwood set.
    """

    agent: str
    version: str
    files: tuple[str, ...] = ()
    settings: SettingsRecord | None = None
    folders: tuple[str, ...] = ()
    values: dict[str, int | bool] = {}


def fingerprint(content: bytes) -> str:
    """A hash that shows whether a file has changed since."""
    return hashlib.sha256(content).hexdigest()


def read_record(agent: str) -> InstallRecord | None:
    """The record; None if nothing is installed or the file cannot be decoded."""
    content = read_bytes(record_file(agent))
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=InstallRecord)
    except msgspec.MsgspecError:
        return None


_MCP_MISSING = "The agent's `context` tool needs one more package. Type: pip install 'sapwood[mcp]'"
_NOT_INSTALLED = (
    "Sapwood is not installed: uvx and pipx run it from a cache that may be emptied; the hooks "
    "would then do nothing. To keep it, type: uv tool install sapwood, then:"
)
_TEMPORARY = re.compile(r"/(?:archive|builds|environments)-v\d+/|/\.cache/pipx/|/pipx/\.cache/")
"""In the paths of programs that `uvx` and `pipx run` start."""


class ProgramInstaller(Protocol):
    """The part `installer` of a program. It describes the changes and writes nothing."""

    def files(self, command: Sequence[str]) -> dict[str, bytes]:
        """The files of Sapwood's plugin by their paths in its folder, calling this command."""
        ...

    def hooks(self, files: Mapping[str, bytes]) -> Iterable[InstalledHook]:
        """The hooks among these files."""
        ...

    def settings_file(self, environ: Mapping[str, str]) -> Path:
        """The user's settings file that has to name Sapwood."""
        ...

    def folders(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """The folders that get a copy of the plugin."""
        ...

    def settings(
        self, environ: Mapping[str, str], command: Sequence[str]
    ) -> tuple[FileEdit | None, tuple[str, ...]]:
        """The change to the user's settings, None if there is none, and notes for the user.

        Raises `InstallError` if the settings file cannot be edited.
        """
        ...

    def without_sapwood(self, path: Path, text: bytes) -> bytes:
        """A settings file without Sapwood's entries and with everything else.

        Raises `InstallError` if the file cannot be edited.
        """
        ...

    def same_settings(self, one: bytes, other: bytes) -> bool:
        """Whether two versions of the settings file have the same values."""
        ...

    def with_values(
        self,
        path: Path,
        text: bytes,
        values: Mapping[str, int | bool],
        owned: Mapping[str, int | bool],
    ) -> bytes:
        """A settings file with these values, and without those that are `owned` and not wanted.

        What the user set otherwise stays. Raises `InstallError`, which names the `path`, if the
        file cannot be edited.
        """
        ...

    def leftovers(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Folders that the program makes for a plugin, to be removed if they are empty."""
        ...


def plan_install(
    agent: Program,
    environ: Mapping[str, str] = os.environ,
    command: Sequence[str] | None = None,
) -> InstallPlan:
    """Plans an installation. A plan without edits means that everything is installed already."""
    command = command or own_command()
    folders = agent.installer.folders(environ)
    shipped = agent.installer.files(command)
    wanted = {folder / name: shipped[name] for folder in folders for name in shipped}
    files = [
        FileEdit(path, before, content)
        for path, content in wanted.items()
        if (before := read_bytes(path)) != content
    ]
    settings, notes = agent.installer.settings(environ, command)
    if find_spec("mcp") is None:
        notes = (*notes, _MCP_MISSING)
    if _TEMPORARY.search(command[0]):
        notes = (*notes, f"{_NOT_INSTALLED} sapwood install {agent.name}")
    hooks = tuple(agent.installer.hooks(shipped)) if files else ()
    plan = InstallPlan((*files, *_outdated(agent, wanted)), settings, folders, notes, hooks=hooks)
    return _with_compaction(agent, plan, environ)


def plan_compaction(agent: Program, environ: Mapping[str, str] = os.environ) -> InstallPlan | None:
    """Plans what the configuration says about compactions; None if Sapwood is not installed."""
    if read_record(agent.name) is None:
        return None
    return _with_compaction(agent, InstallPlan((), None), environ)


def _with_compaction(agent: Program, plan: InstallPlan, environ: Mapping[str, str]) -> InstallPlan:
    """The plan, with when the program compacts as the configuration says."""
    from sapwood.config.config_file import load_config

    wanted = load_config(environ).compaction
    values, note = agent.hooks.compaction_values(wanted.at, wanted.automatic == "on")
    record, path = read_record(agent.name), agent.installer.settings_file(environ)
    before = plan.settings.before if plan.settings else read_bytes(path)
    text = plan.settings.after if plan.settings else before
    owned = record.values if record else {}
    after = text
    if values or owned:
        after = agent.installer.with_values(path, text or b"", values, owned)
    settings = FileEdit(path, before, after) if after != before else None
    notes = (*plan.notes, note) if note else plan.notes
    return structs.replace(plan, settings=settings, notes=notes, values=values)


def _outdated(agent: Program, wanted: Iterable[Path]) -> list[FileEdit]:
    """Removes the files of an earlier version that this version does not have."""
    record = read_record(agent.name)
    old = {Path(path) for path in record.files} if record else set[Path]()
    return [
        FileEdit(path, before, None)
        for path in sorted(old - set(wanted))
        if (before := read_bytes(path)) is not None
    ]


def apply_install(agent: Program, plan: InstallPlan) -> None:
    """Applies the edits and stores a record of the old content. Raises `InstallError`."""
    file = record_file(agent.name)
    stored = msgspec.json.format(msgspec.json.encode(_record(agent, plan)), indent=1)
    apply_edits([FileEdit(file, read_bytes(file), stored, private=True), *plan.edits])


def _record(agent: Program, plan: InstallPlan) -> InstallRecord:
    old = read_record(agent.name) or InstallRecord(agent.name, "")
    made = (str(folder) for folder in missing_folders(plan.edits))
    files = {*old.files, *(str(edit.path) for edit in plan.files if edit.after is not None)}
    gone = {str(edit.path) for edit in plan.files if edit.after is None}
    return InstallRecord(
        agent.name,
        plugin_version(),
        tuple(sorted(files - gone)),
        _settings_record(plan.settings, old.settings),
        tuple(dict.fromkeys((*old.folders, *made))),
        plan.values,
    )


def _settings_record(edit: FileEdit | None, old: SettingsRecord | None) -> SettingsRecord | None:
    """The record of the settings file; it keeps the content from before the first installation."""
    if edit is None or edit.after is None:
        return old
    after = fingerprint(edit.after)
    if old is None:
        return SettingsRecord(str(edit.path), edit.before, after)
    # After a change by others, the content from before the first installation lacks that change.
    is_only_ours = edit.before is not None and fingerprint(edit.before) == old.after
    return SettingsRecord(str(edit.path), old.before, after if is_only_ours else "")


def plan_uninstall(agent: Program, environ: Mapping[str, str] = os.environ) -> InstallPlan:
    """Plans the removal. Without a record, Sapwood's files are found by their paths."""
    record = read_record(agent.name) or InstallRecord(agent.name, "")
    folders = agent.installer.folders(environ)
    known = {folder / name for folder in folders for name in agent.installer.files(("sapwood",))}
    files = tuple(
        FileEdit(path, before, None)
        for path in sorted(known | {Path(path) for path in record.files})
        if (before := read_bytes(path)) is not None
    )
    made = (Path(folder) for folder in record.folders)
    inner = (each for path in known for each in path.parents if _is_within(each, folders))
    empty = (*inner, *agent.installer.leftovers(environ), *made)
    settings, projects = _settings_edit(agent, record, environ), restored_projects(agent)
    made = (edit.path.parent for edit in projects.edits if edit.after is None)
    return InstallPlan(
        (*files, *projects.edits), settings, folders, projects.notes, (*empty, *made)
    )


def _settings_edit(
    agent: Program, installed: InstallRecord, environ: Mapping[str, str]
) -> FileEdit | None:
    record = installed.settings
    path = Path(record.path) if record else agent.installer.settings_file(environ)
    current = read_bytes(path)
    if current is None:
        return None
    restored = _restored(agent, path, current, installed)
    return FileEdit(path, current, restored) if restored != current else None


def _restored(agent: Program, path: Path, current: bytes, installed: InstallRecord) -> bytes | None:
    record = installed.settings
    if record is not None and fingerprint(current) == record.after:
        return record.before
    remaining = agent.installer.without_sapwood(path, current)
    if installed.values:
        remaining = agent.installer.with_values(path, remaining, {}, installed.values)
    if record is not None and agent.installer.same_settings(remaining, record.before or b""):
        return record.before
    return remaining


def apply_uninstall(agent: Program, plan: InstallPlan) -> None:
    """Applies the edits, deletes the record, and removes the folders that are empty now."""
    file = record_file(agent.name)
    apply_edits([*plan.edits, FileEdit(file, read_bytes(file), None)])
    for folder in sorted({*plan.empty, file.parent}, key=_depth, reverse=True):
        with suppress(OSError):
            folder.rmdir()


def _is_within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _depth(folder: Path) -> int:
    return len(folder.parts)
