"""What is needed again after a compaction: the rule passes its limits, and simple rules do not."""

from pathlib import Path

import pytest

from evals import needs
from evals.needs_sessions import SETS, NeedSet, write_set


@pytest.mark.parametrize("chosen", SETS)
def test_the_rule_finds_planted_needs_and_simple_rules_do_not(
    chosen: NeedSet, tmp_path: Path
) -> None:
    planted = write_set(chosen, tmp_path)
    found = needs.score(planted, needs.found_needs)
    assert min(found.precision, found.recall) >= needs.LIMIT
    for rule in (needs.same_arguments, needs.same_file):
        assert needs.score(planted, rule).precision < needs.LIMIT


def test_there_are_enough_needs_of_both_programs_and_half_are_held_out(tmp_path: Path) -> None:
    sets = {chosen: write_set(chosen, tmp_path / chosen) for chosen in SETS}
    counts = {name: sum(len(each.needs) for each in planted) for name, planted in sets.items()}
    assert counts["tuned"] + counts["held_out"] >= 40
    assert counts["held_out"] >= counts["tuned"]
    for planted in sets.values():
        assert {each.source for each in planted} == {"claude-code", "codex"}
