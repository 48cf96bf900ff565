"""The lines, and what the real decision says about each of them.

`hostile.txt` and `nested_hostile.jsonl` were written together with the rules. The lines of
`independent_*` and `held_out_*` were written by people who had not read them. When the rules met
the held-out lines for the first time, 1 of 399 hostile ones was allowed, and 119 of 410 harmless
ones asked. The `blind_*` lines followed later, in the same way: 0 of 76 and 20 of 168.
"""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proofs.attack_commands.evasions import evasions
from proofs.attack_commands.rule_sets import BLIND, HELD_OUT, RULE_SETS
from sapwood.workspace.permissions.permission_decision import ShellAction, decide_permission
from sapwood.workspace.permissions.permission_rules import PermissionRules, parse_rules
from sapwood.workspace.permissions.shell_commands import simple_commands
from sapwood.workspace.safe_paths import require_visible
from sapwood.workspace.tool_output import ToolError

MAX_ASKED = 0.05
_KEYWORDS = re.compile(r"^\s*(?:(?:do|then|if|else|time|[A-Z]+=\S+)\s+|for .*)*|\b(?:done|fi)\b")
_FOLDER = Path(__file__).parent
_HOSTILE_ROWS = ("held_out_hostile.jsonl", "nested_hostile.jsonl", "blind_hostile.jsonl")
HELD_OUT_FILES = {HELD_OUT: "held_out_harmless.jsonl", BLIND: "blind_harmless.jsonl"}
"""Lines of ordinary work by people who had not read the rules, by the rules for them."""


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
    tables = (_read(name) for name in ("hostile.txt", "independent_hostile.txt"))
    nested = (_read_rows(name) for name in _HOSTILE_ROWS)
    return tuple(line for lines in (*tables, *nested) for line in lines)


def evasion_lines() -> tuple[tuple[str, str, str], ...]:
    """Lines that run what a rule denies, each with the denial's name and its rule."""
    return tuple(evasions())


def harmless_lines() -> tuple[Line, ...]:
    """Lines of ordinary work."""
    return _read("independent_harmless.txt")


def held_out_lines(rule_set: str) -> tuple[Line, ...]:
    """Lines of ordinary work, for the rules that are named after them."""
    return _read_rows(HELD_OUT_FILES[rule_set])


def asked_held_out(rule_set: str) -> list[Line]:
    """Those that do not run at once."""
    rules = RULE_SETS[rule_set]
    return [line for line in held_out_lines(rule_set) if verdict(line.command, rules) != "allow"]


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


def without_need(rule_set: str, asked: Sequence[Line]) -> list[Line]:
    """Those that ask although no rule denies them, and rules allow every program that they start.

    A line with a program that no rule names is asked about because nobody allowed that program. A
    rule for one line, such as `rm -rf build dist`, allows that line and not the program.
    """
    rules = [rule for rule in parse_rules(RULE_SETS[rule_set]) if rule.verdict == "allow"]
    named = {rule.pattern.split()[0] for rule in rules if "*" in rule.pattern}
    return [
        line
        for line in asked
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


@cache
def _read_rows(name: str) -> tuple[Line, ...]:
    rows = map(json.loads, (_FOLDER / name).read_text(encoding="utf-8").splitlines())
    return tuple(Line(name, row["family"], row["line"]) for row in rows)
