"""What was expected, and whether it held; each expectation is a line."""

import sys

__all__ = ["Checks"]


class Checks:
    """Expectations of one proof."""

    def __init__(self) -> None:
        self.held = 0
        self.failed = 0

    def expect(self, what: str, holds: object, otherwise: object = "") -> None:
        """Notes whether it holds; `otherwise` is what was there instead."""
        if holds:
            self.held += 1
            print(f"  ok  {what}", flush=True)
        else:
            self.failed += 1
            print(f"  NO  {what}", flush=True)
            if otherwise:
                print(f"      {str(otherwise)[:2_000]}", file=sys.stderr, flush=True)
