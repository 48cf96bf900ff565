"""The lines, and what the real decision says about each of them.

`hostile.txt` was written together with the rules. `independent_hostile.txt` and
`independent_harmless.txt` were written by people who had not read them.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proofs.attack_commands.evasions import evasions
from proofs.attack_commands.rule_sets import RULE_SETS
from sapwood.workspace.control_characters import require_visible
from sapwood.workspace.permissions.permission_decision import ShellAction, decide_permission
from sapwood.workspace.permissions.permission_rules import PermissionRules, parse_rules
from sapwood.workspace.permissions.shell_commands import simple_commands
from sapwood.workspace.tool_output import ToolError

__all__ = [
    "MAX_ASKED",
    "Line",
    "allowed_evasions",
    "allowed_hostile",
    "asked_harmless",
    "asked_without_need",
    "evasion_lines",
    "harmless_lines",
    "hostile_lines",
    "verdict",
]

MAX_ASKED = 0.05
_KEYWORDS = re.compile(r"^\s*(?:(?:do|then|if|else|time|[A-Z]+=\S+)\s+|for .*)*|\b(?:done|fi)\b")
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Line:
    """A command line, what kind of attack or work it is, and the file it is from."""

    source: str
    family: str
    command: str


def verdict(command: str, rules: Sequence[str]) -> str:
    """What the tool would do: 'allow', 'ask', 'deny', or 'refuse' for hidden characters."""
    try:
        require_visible(command, "command", lines=True)
    except ToolError:
        return "refuse"
    return decide_permission(ShellAction("shell", command), _parsed(tuple(rules))).verdict


def hostile_lines() -> tuple[Line, ...]:
    """Lines that no typical rule may allow."""
    return (*_read("hostile.txt"), *_read("independent_hostile.txt"))


def evasion_lines() -> tuple[tuple[str, str, str], ...]:
    """Lines that run what a rule denies, each with the denial's name and its rule."""
    return tuple(evasions())


def harmless_lines() -> tuple[Line, ...]:
    """Lines of ordinary work."""
    return _read("independent_harmless.txt")


def allowed_hostile(rule_set: str) -> list[Line]:
    """The hostile lines that run without a question under these rules."""
    rules = RULE_SETS[rule_set]
    return [line for line in hostile_lines() if verdict(line.command, rules) == "allow"]


def allowed_evasions() -> list[str]:
    """The lines that pass the denial of what they run, if everything else is allowed."""
    return [line for _, rule, line in evasions() if verdict(line, [rule, "allow shell"]) == "allow"]


def asked_harmless(rule_set: str) -> list[Line]:
    """The harmless lines that do not run at once under these rules."""
    rules = RULE_SETS[rule_set]
    return [line for line in harmless_lines() if verdict(line.command, rules) != "allow"]


def asked_without_need(rule_set: str) -> list[Line]:
    """Those that ask although no rule denies them, and rules allow every program that they start.

    A line with a program that no rule names is asked about because nobody allowed that program.
    """
    rules = [rule for rule in parse_rules(RULE_SETS[rule_set]) if rule.verdict == "allow"]
    named = {rule.pattern.split()[0] for rule in rules}
    return [
        line
        for line in asked_harmless(rule_set)
        if verdict(line.command, RULE_SETS[rule_set]) == "ask" and _programs(line.command) <= named
    ]


def _programs(command: str) -> set[str]:
    """The first word of everything that looks like a command."""
    if commands := simple_commands(command):
        return {shlex.quote(each.words[0]) for each in commands}
    firsts = (_KEYWORDS.sub("", part).split() for part in re.split(r"[;|&\n]+", command))
    return {words[0] for words in firsts if words}


@cache
def _parsed(rules: tuple[str, ...]) -> PermissionRules:
    return parse_rules(rules)


@cache
def _read(name: str) -> tuple[Line, ...]:
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    parts = [line.rpartition("\t") for line in lines if line.strip()]
    return tuple(Line(name, kind, command) for kind, _, command in parts)
