"""Permission rules: `allow`, `ask` or `deny` for a tool, a pattern and a folder. Pure.

    deny read_file(.env)
    allow write_file(docs/**)
    allow shell(git *)
    allow shell(make test) in packages/web
    ask *

This module reads and writes rules and says what a rule covers. `permission_decision` decides.

A permission is narrow: its path is a path from the workspace's folder on, and its command runs in
the workspace's folder, unless the rule names another one. A denial is wide: a name without a slash
holds in every folder, a command in every folder and in every way of writing it that is known.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from sapwood.core.errors import SapwoodError
from sapwood.core.refusals import nearest
from sapwood.core.settings import PermissionMode
from sapwood.workspace.globs import glob_regex

Verdict = Literal["allow", "ask", "deny"]
MODES: dict[PermissionMode, str] = {
    "ask": "Changing files or leaving the sandbox needs approval or a rule. "
    "Inside the sandbox, commands run without asking if git has a checkpoint to go back to.",
    "accept-edits": "Workspace files may be changed; commands need approval to leave the sandbox.",
    "plan": "Nothing can be changed. The model writes a plan, which /accept-plan carries out.",
    "read-only": "Nothing can be changed and no command can be run, even if a rule allows it.",
    "all": "Everything is allowed except protected files and whatever a rule denies or asks about.",
}
_ROUND: tuple[PermissionMode, ...] = ("ask", "accept-edits", "plan")
TOOLS = ("read_file", "list_files", "search_files", "write_file", "edit_file", "shell", "web_fetch")
"""The tools of the workspace and of the web. Tools of MCP servers are called SERVER__TOOL."""
_WILDCARD = re.compile(r"(?<!\\)(?:\\\\)*[*?\[]")
_VERDICTS: dict[str, Verdict] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_RULE = re.compile(
    r"(\w+)\s+([A-Za-z0-9_*.-]+)(?:\((.+)\))?(?:\s+in\s+([^()\n]+))?", re.DOTALL | re.ASCII
)


def mode_of(word: str) -> PermissionMode | None:
    """The mode of this name, if there is one."""
    for mode in MODES:
        if mode == word:
            return mode
    return None


def next_mode(mode: PermissionMode) -> PermissionMode:
    """The mode that a key goes to from this one. `read-only` and `all` have to be chosen."""
    place = _ROUND.index(mode) + 1 if mode in _ROUND else 0
    return _ROUND[place % len(_ROUND)]


class RuleError(SapwoodError):
    """A line is not a permission rule."""

    def __init__(self, line: str, problem: str = "") -> None:
        super().__init__(
            f"'{line}' is not a valid rule. {problem}Write allow, ask or deny, then a tool, then "
            "optionally a pattern in brackets: allow shell(git *)"
        )


class PermissionRule(Struct, frozen=True):
    """A verdict for a tool and a pattern. `tool` may contain `*`; no pattern matches everything.

    `folder` is the folder of a command, for rules of `shell`.

    >>> str(PermissionRule("allow", "shell", "git *", "docs"))
    'allow shell(git *) in docs'
    """

    verdict: Verdict
    tool: str
    pattern: str = ""
    folder: str = ""

    def __str__(self) -> str:
        return f"{self.verdict} {self.target}"

    @property
    def target(self) -> str:
        """The rule without its verdict, as `--allow` takes it."""
        pattern = f"({self.pattern})" if self.pattern else ""
        return f"{self.tool}{pattern}" + (f" in {self.folder}" if self.folder else "")


PermissionRules = tuple[PermissionRule, ...]


def parse_rules(lines: Iterable[str], tools: Iterable[str] = ()) -> PermissionRules:
    """The rules in these lines. Raises `RuleError` for a line that is none.

    `tools` are tools that exist besides those of the workspace and of MCP servers.

    >>> parse_rules(["allow shell(git *)"])
    (PermissionRule(verdict='allow', tool='shell', pattern='git *', folder=''),)
    """
    known = (*TOOLS, *tools)
    return tuple(_parse(line, known) for line in lines)


def _parse(line: str, tools: Sequence[str]) -> PermissionRule:
    match = _RULE.fullmatch(line.strip())
    if match is None:
        raise RuleError(line)
    word, tool, pattern, folder = match[1], match[2], match[3] or "", (match[4] or "").strip()
    verdict = _VERDICTS.get(word)
    if verdict is None:
        raise RuleError(line, _did_you_mean(word, _VERDICTS))
    if not _is_tool(tool, tools):
        raise RuleError(line, f"There is no tool {tool}. " + _did_you_mean(tool, tools))
    if folder and tool != "shell":
        raise RuleError(line, "Only rules for shell can name a folder. ")
    return PermissionRule(verdict, tool, pattern, "" if folder in (".", "./") else folder)


def _is_tool(name: str, tools: Sequence[str]) -> bool:
    if "__" in name:
        return True  # of an MCP server, which may not have started yet
    return any(_tool_regex(name).fullmatch(each) for each in tools)


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    close = nearest(word, tuple(known))
    return f"Did you mean {close[0]}? " if close else ""


def is_for_all(rule: PermissionRule) -> bool:
    """Whether the rule covers every path or command of its tool."""
    return rule.pattern in ("", "*", "**") and not rule.folder


def names_tool(rule: PermissionRule, *tools: str) -> bool:
    """Whether the rule is for one of these tools; empty names are left out."""
    pattern = _tool_regex(rule.tool)
    return any(name and pattern.fullmatch(name) is not None for name in tools)


def covers_path(rule: PermissionRule, path: str) -> bool:
    """Whether the pattern covers a path: relative inside the workspace, absolute outside."""
    if path.startswith("/") and not rule.pattern.startswith("/"):
        return rule.verdict == "deny" and not rule.pattern
    if is_for_all(rule):
        return True
    regex = _narrow_path_regex if rule.verdict == "allow" else _wide_path_regex
    return regex(rule.pattern).fullmatch(path) is not None


def is_for_exact_path(rule: PermissionRule, path: str) -> bool:
    """Whether the rule names this path and no other."""
    if not rule.pattern or rule.pattern.endswith("/") or _WILDCARD.search(rule.pattern):
        return False
    return covers_path(rule, path)


def covers_command(rule: PermissionRule, command: str) -> bool:
    """Whether the pattern covers one simple command. Denials ignore case, as file systems may."""
    pattern = _command_regex(rule.pattern, rule.verdict != "allow")
    return not rule.pattern or pattern.fullmatch(command) is not None


def is_for_command_line(rule: PermissionRule, line: str) -> bool:
    """Whether the rule names exactly this command line."""
    return len(rule.pattern) >= len(line) and rule.pattern == command_pattern(line)


def covers_folder(rule: PermissionRule, folder: str | None) -> bool:
    """Whether the rule holds for commands in this folder; None stands for an unknown one."""
    if is_for_all(rule):
        return True
    if rule.verdict != "allow":
        return not rule.folder or folder is None or _in_folder(rule.folder, folder)
    if folder is None:
        return False
    return _in_folder(rule.folder, folder) if rule.folder else folder == "."


def covers_host(rule: PermissionRule, place: str, *, exact: bool = False) -> bool:
    """Whether the rule covers a host, which has its port if that is not the usual one.

    `*.example.org` stands for the hosts below it. A denial also holds for every port and for all
    hosts below. With `exact`, a rule that allows must name this host.

    >>> rule = PermissionRule("allow", "web_fetch", "*.example.org")
    >>> covers_host(rule, "docs.example.org"), covers_host(rule, "example.org")
    (True, False)
    """
    pattern = rule.pattern.casefold()
    if rule.verdict == "allow" and exact:
        return pattern == place
    if is_for_all(rule):
        return True
    if rule.verdict == "allow":
        return _command_regex(pattern, False).fullmatch(place) is not None
    host = place if place.endswith("]") else re.sub(r":\d+$", "", place)
    regex = _command_regex(pattern, True)
    return any(regex.fullmatch(each) for each in (place, host)) or host.endswith(f".{pattern}")


def command_pattern(command: str) -> str:
    """The pattern that matches exactly this command."""
    return command.replace("\\", "\\\\").replace("*", "\\*")


def _in_folder(pattern: str, folder: str) -> bool:
    return _narrow_path_regex(pattern).fullmatch(folder) is not None


@cache
def _tool_regex(tool: str) -> re.Pattern[str]:
    return re.compile(re.escape(tool).replace(r"\*", ".*"))


@cache
def _narrow_path_regex(pattern: str) -> re.Pattern[str]:
    """Matches paths from the top on. `src/**` and `src/` match the folder and all that is in it."""
    lead = "/" if pattern.startswith("/") else ""
    stem = pattern.removesuffix("/**") if pattern.endswith("/**") else pattern.removesuffix("/")
    rest = "(?:/.*)?" if stem != pattern else ""
    if stem in ("", "*", "**"):
        return re.compile(f"{lead}.*", re.DOTALL)
    return re.compile(f"{lead}{glob_regex('/' + stem.lstrip('/'))}{rest}", re.DOTALL)


@cache
def _wide_path_regex(pattern: str) -> re.Pattern[str]:
    """Matches as in `.gitignore`, in any case, and everything in a folder that matches."""
    lead = "/" if pattern.startswith("/") else ""
    stem = pattern.removesuffix("/**")
    # A pattern that its slash anchors to the top stays anchored when the slash is removed.
    stem = f"/{stem.lstrip('/')}" if stem != pattern else stem
    return re.compile(f"{lead}{glob_regex(stem)}(?:/.*)?", re.DOTALL | re.IGNORECASE)


@cache
def _command_regex(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """`*` matches anything; `git *` also matches `git` alone; `\\*` matches a star."""
    stem = pattern.removesuffix(" *")
    body = re.sub(r"\\(.)|(\*)|([^\\*]+)|\\", _command_piece, stem, flags=re.DOTALL)
    rest = "(?: .*)?" if stem != pattern else ""
    return re.compile(body + rest, re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _command_piece(found: re.Match[str]) -> str:
    if found[2]:
        return ".*"
    return re.escape(found[1] or found[3] or "\\")
