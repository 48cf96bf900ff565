"""Checks that belong to acts, so that a table can say which act works with which version."""

from dataclasses import dataclass, field

from proofs.agents_e2e.checks import Checks


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
