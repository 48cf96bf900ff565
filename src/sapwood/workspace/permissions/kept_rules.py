"""The rules of a project that outlast the process, and all rules of an agent with their sources."""

import asyncio
import os

from msgspec import Struct

from sapwood.config.project_rules import (
    add_project_rules,
    project_rules,
    project_rules_file,
    remove_project_rule,
)
from sapwood.core.errors import SapwoodError
from sapwood.core.settings import Workspace
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
