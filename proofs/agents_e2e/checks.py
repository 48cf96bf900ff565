"""Counts and prints the checks of a proof, one line each."""

import sys


class Checks:
    """The checks of one proof."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def expect(self, what: str, holds: object, otherwise: object = "") -> None:
        """Counts a check; if it fails, `otherwise` is printed."""
        if holds:
            self.passed += 1
            print(f"  ok  {what}", flush=True)
        else:
            self.failed += 1
            print(f"  NO  {what}", flush=True)
            if otherwise:
                print(f"      {str(otherwise)[:2_000]}", file=sys.stderr, flush=True)
