"""Permission rules: `allow`, `ask` or `deny` for a tool and a pattern. Pure.

    deny read_file(.env)
    allow write_file(docs/**)
    allow shell(git *)
    ask *

The first rule that matches decides. Without a match, reading in the workspace is allowed, any
access outside of it is denied, and everything else needs a question.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal

from msgspec import Struct

from sapwood.core.errors import SapwoodError
from sapwood.workspace.globs import escape, glob_regex
from sapwood.workspace.permissions.shell_commands import simple_commands

__all__ = [
    "FileAction",
    "OtherAction",
    "PermissionDecision",
    "PermissionRule",
    "PermissionRules",
    "RuleError",
    "ShellAction",
    "ToolAction",
    "Verdict",
    "decide_permission",
    "parse_rules",
]

Verdict = Literal["allow", "ask", "deny"]
_RULE = re.compile(r"(allow|ask|deny)\s+([A-Za-z0-9_*-]+)(?:\((.+)\))?", re.DOTALL)
_PROTECTED = (".git", ".sapwood")
"""Folders whose files run programs or hold rules. Only a pattern that names one matches it."""


class FileAction(Struct, frozen=True):
    """Reading or writing at a path, which is relative inside the workspace and absolute outside.

    Rules for `related_tool` count for this tool too: a rule for write_file also allows edit_file.
    """

    tool: str
    path: str
    reads: bool
    related_tool: str = ""

    @property
    def is_outside(self) -> bool:
        return self.path.startswith("/")


class ShellAction(Struct, frozen=True):
    """Running a command line."""

    tool: str
    command: str


class OtherAction(Struct, frozen=True):
    """Any other call; rules see only its tool."""

    tool: str
    reads: bool = False


ToolAction = FileAction | ShellAction | OtherAction


class RuleError(SapwoodError):
    """A line is not a permission rule."""

    def __init__(self, line: str) -> None:
        super().__init__(
            f"'{line}' is no rule. Write allow, ask or deny, then a tool, then optionally a "
            "pattern in brackets: allow shell(git *)"
        )


class PermissionRule(Struct, frozen=True):
    """A verdict for a tool and a pattern. `tool` may contain `*`; no pattern matches everything.

    >>> str(PermissionRule("allow", "shell", "git *"))
    'allow shell(git *)'
    """

    verdict: Verdict
    tool: str
    pattern: str = ""

    def __str__(self) -> str:
        return f"{self.verdict} {self.target}"

    @property
    def target(self) -> str:
        """The rule without its verdict, as `--allow` takes it."""
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


PermissionRules = tuple[PermissionRule, ...]


class PermissionDecision(Struct, frozen=True):
    """The verdict, its reason, and the rules that would allow the action, if there are such."""

    verdict: Verdict
    why: str
    remedy: PermissionRules = ()


def parse_rules(lines: Iterable[str]) -> PermissionRules:
    """The rules in these lines. Raises `RuleError` for a line that is none.

    >>> parse_rules(["allow shell(git *)"])
    (PermissionRule(verdict='allow', tool='shell', pattern='git *'),)
    """
    return tuple(_parse(line) for line in lines)


def decide_permission(
    action: ToolAction, rules: PermissionRules, granted: PermissionRules = ()
) -> PermissionDecision:
    """Decides about an action. `granted` are rules that a person gave as an answer.

    A granted rule allows an action that would need a question, never one that is denied. A shell
    command line is allowed only if every command in it is.

    >>> rules = parse_rules(["allow shell(git *)"])
    >>> decide_permission(ShellAction("shell", "git status"), rules).verdict
    'allow'
    >>> decide_permission(ShellAction("shell", "git status; rm -rf ."), rules).verdict
    'ask'
    """
    if not isinstance(action, ShellAction):
        return _decide_one(action, rules, granted)
    commands = simple_commands(action.command)
    if commands is None:
        return _decide_unknown_commands(action, rules, granted)
    parts = [_decide_one(ShellAction(action.tool, command), rules, granted) for command in commands]
    worst = max(parts, key=lambda part: ("allow", "ask", "deny").index(part.verdict))
    remedy = (rule for part in parts if part.verdict == "ask" for rule in part.remedy)
    return PermissionDecision(worst.verdict, worst.why, tuple(dict.fromkeys(remedy)))


def _parse(line: str) -> PermissionRule:
    match = _RULE.fullmatch(line.strip())
    if match is None:
        raise RuleError(line)
    verdict: Verdict = "allow" if match[1] == "allow" else "ask" if match[1] == "ask" else "deny"
    return PermissionRule(verdict, match[2], match[3] or "")


def _decide_one(
    action: ToolAction, rules: PermissionRules, granted: PermissionRules
) -> PermissionDecision:
    remedy = (_narrowest_rule(action),)
    for rule in rules:
        if _matches(rule, action):
            if rule.verdict == "ask" and any(_matches(each, action) for each in granted):
                return PermissionDecision("allow", "A person allowed it.")
            return PermissionDecision(rule.verdict, f"The rule '{rule}' decides.", remedy)
    if any(_matches(each, action) for each in granted):
        return PermissionDecision("allow", "A person allowed it.")
    return _default_decision(action, remedy)


def _default_decision(action: ToolAction, remedy: PermissionRules) -> PermissionDecision:
    if isinstance(action, FileAction) and action.is_outside:
        return PermissionDecision("deny", "It is outside the workspace.", remedy)
    if not isinstance(action, ShellAction) and action.reads:
        return PermissionDecision("allow", "Reading is allowed.")
    return PermissionDecision("ask", "No permission rule covers this.", remedy)


def _decide_unknown_commands(
    action: ShellAction, rules: PermissionRules, granted: PermissionRules
) -> PermissionDecision:
    """Decides about a command line whose commands are unknown, so that patterns cannot allow it."""
    remedy = (PermissionRule("allow", action.tool),)
    unclear = "What this command line runs is not known in advance"
    for rule in rules:
        if _names_tool(rule, action) and (rule.pattern in ("", "*") or rule.verdict != "allow"):
            if rule.pattern in ("", "*") and rule.verdict != "ask":
                return PermissionDecision(rule.verdict, f"The rule '{rule}' decides.", remedy)
            if rule.verdict == "deny":  # no grant overrides a denial
                return PermissionDecision("ask", f"{unclear}, and '{rule}' may apply to it.")
            break
    if any(_names_tool(rule, action) and rule.pattern in ("", "*") for rule in granted):
        return PermissionDecision("allow", "A person allowed it.")
    return PermissionDecision("ask", f"{unclear}.", remedy)


def _matches(rule: PermissionRule, action: ToolAction) -> bool:
    if not _names_tool(rule, action):
        return False
    match action:
        case FileAction():
            return _matches_path(rule, action)
        case ShellAction():
            pattern = _command_regex(rule.pattern, rule.verdict != "allow")
            return not rule.pattern or pattern.fullmatch(action.command) is not None
        case _:
            return not rule.pattern or rule.pattern == "*"


def _names_tool(rule: PermissionRule, action: ToolAction) -> bool:
    if rule.tool == "*":
        return True
    pattern = _tool_regex(rule.tool)
    related = action.related_tool if isinstance(action, FileAction) else ""
    return any(name and pattern.fullmatch(name) is not None for name in (action.tool, related))


def _matches_path(rule: PermissionRule, action: FileAction) -> bool:
    if action.is_outside and not rule.pattern.startswith("/"):
        return rule.verdict == "deny" and not rule.pattern
    if not action.reads and rule.verdict == "allow" and _is_protected(action, rule):
        return False
    if not rule.pattern:
        return True
    # Denials ignore case, because some file systems do.
    return _path_regex(rule.pattern, rule.verdict != "allow").fullmatch(action.path) is not None


def _is_protected(action: FileAction, rule: PermissionRule) -> bool:
    folders = [name.casefold() for name in action.path.split("/")]
    return any(name in folders and name not in rule.pattern.split("/") for name in _PROTECTED)


def _narrowest_rule(action: ToolAction) -> PermissionRule:
    """The narrowest rule that allows this action."""
    match action:
        case FileAction():
            return PermissionRule("allow", action.tool, escape(action.path))
        case ShellAction():
            return PermissionRule(
                "allow", action.tool, action.command.replace("\\", "\\\\").replace("*", "\\*")
            )
        case _:
            return PermissionRule("allow", action.tool)


@cache
def _tool_regex(tool: str) -> re.Pattern[str]:
    return re.compile(re.escape(tool).replace(r"\*", ".*"))


@cache
def _path_regex(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """Matches the path itself and everything in it if it is a folder: `src` is also `src/**`."""
    lead = "/" if pattern.startswith("/") else ""
    stem = pattern.removesuffix("/**")
    # A pattern that its slash anchors to the top stays anchored when the slash is removed.
    stem = f"/{stem.lstrip('/')}" if stem != pattern else stem
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    return re.compile(f"{lead}{glob_regex(stem)}(?:/.*)?", flags)


@cache
def _command_regex(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """`*` matches anything; `git *` also matches `git` alone; `\\*` matches a star."""
    stem = pattern.removesuffix(" *")
    body = re.sub(r"\\(.)|(\*)|([^\\*]+)|\\", _command_piece, stem)
    rest = "(?: .*)?" if stem != pattern else ""
    return re.compile(body + rest, re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _command_piece(found: re.Match[str]) -> str:
    if found[2]:
        return ".*"
    return re.escape(found[1] or found[3] or "\\")
