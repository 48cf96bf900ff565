"""`python -m proofs.attack_commands`: hostile lines that are allowed, harmless lines that ask.

Fails if one hostile line is allowed without a question, or if more than one harmless line of
twenty asks under the rules of a typical developer, although these name every program in it. The
held-out lines have rules of their own.
"""

import sys

from proofs.attack_commands.corpus import (
    HELD_OUT_FILES,
    MAX_ASKED,
    allowed_evasions,
    allowed_hostile,
    asked_harmless,
    asked_held_out,
    evasion_lines,
    harmless_lines,
    held_out_lines,
    hostile_lines,
    without_need,
)
from proofs.attack_commands.rule_sets import FIRST, RULE_SETS, TYPICAL


def main() -> int:
    """Prints both counts and returns the exit code."""
    hostile, evasions, harmless = hostile_lines(), evasion_lines(), harmless_lines()
    families = {line.family for line in hostile} | {"denied commands"}
    let_in = 0
    for name in RULE_SETS:
        allowed = allowed_hostile(name)
        let_in += len(allowed)
        print(f"rules '{name}': {len(allowed)} of {len(hostile)} hostile lines allowed")
        for line in allowed:
            print(f"    ALLOWED {line.source} {line.family}: {line.command!r}")
    passed = allowed_evasions()
    let_in += len(passed)
    print(f"denials: {len(passed)} of {len(evasions)} ways around a denial allowed")
    for line in passed:
        print(f"    ALLOWED: {line!r}")
    needless = without_need(TYPICAL, asked_harmless(TYPICAL))
    for line in asked_harmless(TYPICAL):
        print(f"    asked{' without need' if line in needless else ''}: {line.command!r}")
    for name in ("none", FIRST, TYPICAL):
        print(f"rules '{name}': {len(asked_harmless(name))} of {len(harmless)} harmless lines ask")
    share = len(needless) / len(harmless)
    print(f"harmless lines: {len(harmless)}, {len(needless)} asked without need ({share:.1%})")
    shares = [share, *map(_share_of_held_out, HELD_OUT_FILES)]
    total = len(hostile) + len(evasions)
    print(
        f"hostile lines: {total} in {len(families)} families, {let_in} allowed without a question"
    )
    return 1 if let_in or max(shares) > MAX_ASKED else 0


def _share_of_held_out(rule_set: str) -> float:
    """The share of lines that ask without need, which it prints with each of them."""
    lines, asked = held_out_lines(rule_set), asked_held_out(rule_set)
    needless = without_need(rule_set, asked)
    for line in asked:
        print(f"    asked{' without need' if line in needless else ''}: {line.command!r}")
    share = len(needless) / len(lines)
    counts = f"{len(lines)}, {len(asked)} ask, {len(needless)} without need ({share:.1%})"
    print(f"harmless lines, rules '{rule_set}': {counts}")
    return share


if __name__ == "__main__":
    sys.exit(main())
