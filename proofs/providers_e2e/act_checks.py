"""Checks that belong to acts, so that a table can say which act works with which version."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from proofs.agents_e2e.checks import Checks
from sapwood.programs.registry import PROGRAM_NAMES


@dataclass
class Act:
    """One act on the sessions of a program, with its checks."""

    program: str
    what: str
    passed: int = 0
    failed: int = 0


@dataclass
class ActChecks(Checks):
    """The checks of a proof, and the acts that they belong to."""

    acts: list[Act] = field(default_factory=list[Act])
    passed: int = 0
    failed: int = 0

    def begin(self, program: str, what: str) -> None:
        """The next checks belong to this act."""
        print(f"\n{program}: {what}", flush=True)
        self.acts.append(Act(program, what))

    def expect(self, what: str, holds: object, otherwise: object = "") -> None:
        """Counts a check; if it fails, `otherwise` is printed."""
        super().expect(what, holds, otherwise)
        if self.acts:
            self.acts[-1].passed += bool(holds)
            self.acts[-1].failed += not holds


def acts_printed(lines: Iterable[str]) -> list[Act]:
    """The acts of an interrupted run from what it printed, without the one that did not end."""
    acts: list[Act] = []
    for line in lines:
        program, sign, what = line.partition(": ")
        if sign and program in PROGRAM_NAMES:
            acts.append(Act(program, what))
        elif acts:
            acts[-1].passed += line.startswith("  ok  ")
            acts[-1].failed += line.startswith("  NO  ")
    return acts[:-1]
