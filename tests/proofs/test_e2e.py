"""A small run of the end-to-end proof: every scene in each wire format but the shell in one."""

import pytest

from proofs.e2e.checks import Checks
from proofs.e2e.runner import SCENES, prove
from proofs.e2e.wires import WIRES

IN_A_SHELL = "messages"


@pytest.mark.night
@pytest.mark.parametrize("wire", WIRES)
async def test_everything_holds_end_to_end(wire: str) -> None:
    checks = Checks()
    scenes = [name for name in SCENES if name != "shell" or wire == IN_A_SHELL]
    calls = await prove(wire, scenes, checks)
    assert checks.failed == []
    assert checks.passed > calls > 0


def test_a_false_claim_is_counted_and_reported() -> None:
    checks = Checks()
    checks.where = "chat, turn"
    checks.same("two is three", 2, 3)
    checks.within("the heron is there", "heron", "a stork")
    checks.that("this holds", True)
    assert (checks.passed, checks.made) == (1, 3)
    assert checks.failed[0] == "chat, turn: two is three: 2 instead of 3"
