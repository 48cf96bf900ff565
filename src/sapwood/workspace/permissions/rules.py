"""Permission rules: `allow`, `ask` or `deny` for a tool and a pattern. Pure.

    deny read_file(.env)
    allow write_file(docs/**)
    allow shell(git *)
    ask *

The first rule that fits decides. What no rule speaks of: reading in the workspace is allowed,
reaching out of it is denied, everything else is asked for.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal

from msgspec import Struct

from sapwood.core.errors import SapwoodError
from sapwood.workspace.globs import escape, glob_regex
from sapwood.workspace.permissions.acts import Act, FileAct, ShellAct
from sapwood.workspace.permissions.commands import simple_commands

__all__ = ["Decision", "Rule", "RuleError", "Rules", "Verdict", "decide", "parse_rules"]

Verdict = Literal["allow", "ask", "deny"]
_RULE = re.compile(r"(allow|ask|deny)\s+([A-Za-z0-9_*-]+)(?:\((.+)\))?", re.DOTALL)
_GUARDED = (".git", ".sapwood")
"""Folders from which programs are run or rules are read. Only a pattern that names one fits it."""


class RuleError(SapwoodError):
    """A line is not a rule."""

    def __init__(self, line: str) -> None:
        super().__init__(
            f"'{line}' is no rule. Write allow, ask or deny, then a tool, then a pattern in "
            "brackets if not everything is meant: allow shell(git *)"
        )


class Rule(Struct, frozen=True):
    """A verdict on what a tool does. `tool` may hold `*`; without a pattern all is meant.

    >>> str(Rule("allow", "shell", "git *"))
    'allow shell(git *)'
    """

    verdict: Verdict
    tool: str
    pattern: str = ""

    def __str__(self) -> str:
        return f"{self.verdict} {self.target}"

    @property
    def target(self) -> str:
        """The rule without its verdict."""
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


Rules = tuple[Rule, ...]


class Decision(Struct, frozen=True):
    """The verdict, why it is so, and the rules that would have allowed it (none: no such rules)."""

    verdict: Verdict
    why: str
    remedy: Rules = ()


def parse_rules(lines: Iterable[str]) -> Rules:
    """The rules that the lines spell. Raises `RuleError`.

    >>> parse_rules(["allow shell(git *)"])
    (Rule(verdict='allow', tool='shell', pattern='git *'),)
    """
    return tuple(_parse(line) for line in lines)


def decide(act: Act, rules: Rules, granted: Rules = ()) -> Decision:
    """What the rules say. `granted` are rules that a person gave as an answer.

    An answer turns what would be asked into what is allowed, and never what is denied.

    >>> rules = parse_rules(["allow shell(git *)"])
    >>> decide(ShellAct("shell", "git status"), rules).verdict
    'allow'
    >>> decide(ShellAct("shell", "git status; rm -rf ."), rules).verdict
    'ask'
    """
    if not isinstance(act, ShellAct):
        return _decide_one(act, rules, granted)
    commands = simple_commands(act.command)
    if commands is None:
        return _decide_unclear(act, rules, granted)
    parts = [_decide_one(ShellAct(act.tool, command), rules, granted) for command in commands]
    worst = max(parts, key=lambda part: ("allow", "ask", "deny").index(part.verdict))
    remedy = (rule for part in parts if part.verdict == "ask" for rule in part.remedy)
    return Decision(worst.verdict, worst.why, tuple(dict.fromkeys(remedy)))


def _parse(line: str) -> Rule:
    match = _RULE.fullmatch(line.strip())
    if match is None:
        raise RuleError(line)
    verdict: Verdict = "allow" if match[1] == "allow" else "ask" if match[1] == "ask" else "deny"
    return Rule(verdict, match[2], match[3] or "")


def _decide_one(act: Act, rules: Rules, granted: Rules) -> Decision:
    remedy = (_exactly(act),)
    for rule in rules:
        if _fits(rule, act):
            if rule.verdict == "ask" and any(_fits(each, act) for each in granted):
                return Decision("allow", "A person allowed it.")
            return Decision(rule.verdict, f"The rule '{rule}' says so.", remedy)
    if any(_fits(each, act) for each in granted):
        return Decision("allow", "A person allowed it.")
    return _undecided(act, remedy)


def _undecided(act: Act, remedy: Rules) -> Decision:
    if isinstance(act, FileAct) and act.is_outside:
        return Decision("deny", "It is outside of the workspace.", remedy)
    if not isinstance(act, ShellAct) and act.reads:
        return Decision("allow", "Reading is allowed.")
    return Decision("ask", "No rule speaks of it.", remedy)


def _decide_unclear(act: ShellAct, rules: Rules, granted: Rules) -> Decision:
    """A line of which no one can tell what it runs: a rule with a pattern can only be feared."""
    remedy = (Rule("allow", act.tool),)
    unclear = "What this command line runs cannot be told in advance"
    for rule in rules:
        if _names(rule, act) and (rule.pattern in ("", "*") or rule.verdict != "allow"):
            if rule.pattern in ("", "*") and rule.verdict != "ask":
                return Decision(rule.verdict, f"The rule '{rule}' says so.", remedy)
            if rule.verdict == "deny":  # which no grant overrules
                return Decision("ask", f"{unclear}, and '{rule}' may speak of it.")
            break
    if any(_names(rule, act) and rule.pattern in ("", "*") for rule in granted):
        return Decision("allow", "A person allowed it.")
    return Decision("ask", f"{unclear}.", remedy)


def _fits(rule: Rule, act: Act) -> bool:
    if not _names(rule, act):
        return False
    match act:
        case FileAct():
            return _fits_path(rule, act)
        case ShellAct():
            pattern = _command_regex(rule.pattern, rule.verdict != "allow")
            return not rule.pattern or pattern.fullmatch(act.command) is not None
        case _:
            return not rule.pattern or rule.pattern == "*"


def _names(rule: Rule, act: Act) -> bool:
    if rule.tool == "*":
        return True
    pattern = _tool_regex(rule.tool)
    kin = act.kin if isinstance(act, FileAct) else ""
    return any(name and pattern.fullmatch(name) is not None for name in (act.tool, kin))


def _fits_path(rule: Rule, act: FileAct) -> bool:
    if act.is_outside and not rule.pattern.startswith("/"):
        return rule.verdict == "deny" and not rule.pattern
    if not act.reads and rule.verdict == "allow" and _is_guarded(act, rule):
        return False
    if not rule.pattern:
        return True
    # What is kept away stays away where file systems do not tell capitals from small letters.
    return _path_regex(rule.pattern, rule.verdict != "allow").fullmatch(act.path) is not None


def _is_guarded(act: FileAct, rule: Rule) -> bool:
    folders = [name.casefold() for name in act.path.split("/")]
    return any(name in folders and name not in rule.pattern.split("/") for name in _GUARDED)


def _exactly(act: Act) -> Rule:
    """The narrowest rule that allows this act."""
    match act:
        case FileAct():
            return Rule("allow", act.tool, escape(act.path))
        case ShellAct():
            return Rule("allow", act.tool, act.command.replace("\\", "\\\\").replace("*", "\\*"))
        case _:
            return Rule("allow", act.tool)


@cache
def _tool_regex(tool: str) -> re.Pattern[str]:
    return re.compile(re.escape(tool).replace(r"\*", ".*"))


@cache
def _path_regex(pattern: str, loose: bool) -> re.Pattern[str]:
    """Of the path itself, and of everything in it if it is a folder: `src` is also `src/**`."""
    lead = "/" if pattern.startswith("/") else ""
    stem = pattern.removesuffix("/**")
    # What is anchored by its slash stays anchored without it.
    stem = f"/{stem.lstrip('/')}" if stem != pattern else stem
    flags = re.DOTALL | (re.IGNORECASE if loose else 0)
    return re.compile(f"{lead}{glob_regex(stem)}(?:/.*)?", flags)


@cache
def _command_regex(pattern: str, loose: bool) -> re.Pattern[str]:
    """`*` is anything; `git *` is also `git` alone; `\\*` is a star."""
    stem = pattern.removesuffix(" *")
    body = re.sub(r"\\(.)|(\*)|([^\\*]+)|\\", _command_piece, stem)
    rest = "(?: .*)?" if stem != pattern else ""
    return re.compile(body + rest, re.DOTALL | (re.IGNORECASE if loose else 0))


def _command_piece(found: re.Match[str]) -> str:
    if found[2]:
        return ".*"
    return re.escape(found[1] or found[3] or "\\")
