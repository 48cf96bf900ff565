"""The rules of a project that outlast the process, and all rules of an agent with their sources.

The permission rules that a person gave for a project: a private file beside config.toml.

The file is never in the workspace, so a repository cannot grant itself anything. The rules are
kept as lines of text; `sapwood.workspace.permissions` knows what they mean.
"""

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.config.config_file import ConfigError, config_file
from sapwood.core.errors import SapwoodError
from sapwood.core.settings import Workspace
from sapwood.private_files import locked, replace_file
from sapwood.workspace.permissions.permission_rules import PermissionRules, parse_rules
from sapwood.workspace.tool_output import ToolError


class KeptRules:
    """The rules in the user's own file. Every decision reads it, so a change holds at once."""

    def __init__(self) -> None:
        self._file = project_rules_file()
        self._read: tuple[tuple[int, int, int], str, PermissionRules] | None = None

    def rules(self, workspace: str) -> PermissionRules:
        """The rules of this workspace. Raises `ToolError` if the file cannot be understood."""
        try:
            found = self._file.stat()
        except FileNotFoundError:
            return ()
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if self._read is None or self._read[:2] != (stamp, workspace):
            try:
                rules = parse_rules(project_rules(workspace, self._file))
            except SapwoodError as error:
                raise ToolError(f"Permissions cannot be read: {error} Tell the user.") from error
            self._read = (stamp, workspace, rules)
        return self._read[2]

    def add(self, workspace: str, rules: PermissionRules) -> None:
        """Adds rules to this workspace."""
        add_project_rules(workspace, map(str, rules), self._file)

    def remove(self, workspace: str, rule: str) -> bool:
        """Removes a rule of this workspace; returns whether there was one."""
        return remove_project_rule(workspace, rule, self._file)

    @property
    def path(self) -> str:
        """The file."""
        return str(self._file)


class SourcedRule(Struct, frozen=True):
    """A rule as it is written, and where it was given."""

    rule: str
    source: str


class RuleSources(Struct, frozen=True):
    """Where the rules of an agent come from: the configuration, this run, and its project."""

    configured: tuple[str, ...] = ()
    this_run: tuple[str, ...] = ()
    kept: KeptRules | None = None

    async def listed(self, workspace: str) -> tuple[SourcedRule, ...]:
        """All rules in the order in which they are looked at."""
        kept = await asyncio.to_thread(self.kept.rules, workspace) if self.kept else ()
        forbidding = [str(rule) for rule in kept if rule.verdict != "allow"]
        allowing = [str(rule) for rule in kept if rule.verdict == "allow"]
        return (
            *(SourcedRule(rule, "this project") for rule in forbidding),
            *(SourcedRule(rule, "configuration") for rule in self.configured),
            *(SourcedRule(rule, "this run") for rule in self.this_run),
            *(SourcedRule(rule, "this project") for rule in allowing),
        )


def project_folder(workspace: Workspace) -> str:
    """The project's folder as the tools see it, without symlinks; '' if there is none."""
    folder = workspace.worktree or workspace.folder
    return os.path.realpath(os.path.expanduser(folder)) if folder else ""


_HEAD = "# Permission rules for a project. Type /permissions to see and change them.\n"


def project_rules_file() -> Path:
    """The path of the file, which may not exist."""
    return config_file().with_name("permissions.toml")


def project_rules(folder: str, file: Path | None = None) -> tuple[str, ...]:
    """The rules of the project in this folder. Raises `ConfigError` if the file cannot be read."""
    return _read(file or project_rules_file()).get(_project(folder), ())


def add_project_rules(folder: str, rules: Iterable[str], file: Path | None = None) -> None:
    """Adds rules to the project. Raises `ConfigError` or `OSError` if they cannot be kept."""
    file = file or project_rules_file()
    with locked(file):
        projects = _read(file)
        known = projects.get(_project(folder), ())
        projects[_project(folder)] = tuple(dict.fromkeys((*known, *rules)))
        replace_file(file, _text(projects))


def remove_project_rule(folder: str, rule: str, file: Path | None = None) -> bool:
    """Removes a rule of the project; returns whether there was one."""
    file = file or project_rules_file()
    with locked(file):
        projects = _read(file)
        known = projects.get(_project(folder), ())
        if rule not in known:
            return False
        projects[_project(folder)] = tuple(each for each in known if each != rule)
        replace_file(file, _text(projects))
    return True


def _project(folder: str) -> str:
    return os.path.realpath(os.path.expanduser(folder))


def _read(file: Path) -> dict[str, tuple[str, ...]]:
    import tomllib

    from sapwood.config.toml_edit import parse_toml

    try:
        text = file.read_text(encoding="utf-8")
        tables = msgspec.convert(parse_toml(text), dict[str, dict[str, tuple[str, ...]]])
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.MsgspecError) as error:
        raise ConfigError(f"{file} cannot be read: {error}. Correct it or delete it.") from error
    return {folder: table.get("rules", ()) for folder, table in tables.items()}


def _text(projects: Mapping[str, tuple[str, ...]]) -> str:
    parts = [_HEAD]
    for folder, rules in projects.items():
        if rules:
            lines = "".join(f"    {_quoted(rule)},\n" for rule in rules)
            parts.append(f"[{_quoted(folder)}]\nrules = [\n{lines}]\n")
    return "\n".join(parts)


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    escaped = text.encode("utf-8", "replace").decode()
    return json.dumps(escaped, ensure_ascii=False).replace("\x7f", "\\u007f")
