"""Ids of commands: neighbours in an index, and never the same twice."""

import re

import pytest

from sapwood.turns import clock_and_ids
from sapwood.turns.clock_and_ids import command_meta, new_command_id


def test_ids_of_commands_are_in_the_order_of_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    for milliseconds in (
        1_763_510_400_000,
        1_763_510_400_001,
        2_000_000_000_000,
        4_000_000_000_000,
    ):
        monkeypatch.setattr(clock_and_ids.time, "time_ns", lambda at=milliseconds: at * 1_000_000)
        made += [new_command_id() for _ in range(3)]
    assert [each[:12] for each in made] == sorted(each[:12] for each in made)
    assert len({*made}) == len(made)


def test_an_id_has_the_form_by_which_stores_know_that_its_receipt_may_expire() -> None:
    assert re.fullmatch(r"[0-9a-f]{24}", command_meta().id)
    assert re.fullmatch(r"[0-9a-f]{24}", command_meta(command="").id)
    assert command_meta(command="own").id == "own"
