"""The lines, and what the real decision says about each of them.

`hostile.txt` was written together with the rules. `independent_hostile.txt` and
`independent_harmless.txt` were written by people who had not read them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proofs.attack_commands.evasions import evasions
from proofs.attack_commands.rule_sets import RULE_SETS
from sapwood.workspace.control_characters import require_visible
from sapwood.workspace.permissions.permission_decision import ShellAction, decide_permission
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.tool_output import ToolError

__all__ = [
    "MAX_ASKED",
    "Line",
    "allowed_evasions",
    "allowed_hostile",
    "asked_harmless",
    "evasion_lines",
    "harmless_lines",
    "hostile_lines",
    "verdict",
]

MAX_ASKED = 0.05
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
    return decide_permission(ShellAction("shell", command), parse_rules(rules)).verdict


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


@cache
def _read(name: str) -> tuple[Line, ...]:
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    parts = [line.partition("\t") for line in lines if line.strip()]
    return tuple(Line(name, kind, command) for kind, _, command in parts)
