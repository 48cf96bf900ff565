"""The long checks: what they run exists, and a failure of one is a failure of all."""

import re
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools import night

ROOT = Path(__file__).parents[2]
PREFIXES = ("attack", "crash", "prove", "fuzz")
"""Recipes whose names begin like this are long checks."""


def recipes() -> set[str]:
    return set(
        re.findall(r"^([a-z][a-z0-9-]*)(?: [^:=]*)?:(?!=)", (ROOT / "justfile").read_text(), re.M)
    )


def test_every_recipe_of_the_night_exists() -> None:
    assert {recipe[0] for recipe in night.RECIPES} <= recipes()


def test_no_attack_crash_or_proof_is_left_out_of_the_night() -> None:
    long = {name for name in recipes() if name.startswith(PREFIXES) or name.endswith("-e2e")}
    assert long <= {recipe[0] for recipe in night.RECIPES}


def test_one_failure_fails_the_night_and_the_others_still_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(recipe: Sequence[str]) -> night.Outcome:
        return night.Outcome(recipe[0], recipe[0] != "two", 61.0, "the last line")

    monkeypatch.setattr(night, "RECIPES", (("one",), ("two",), ("three",)))
    monkeypatch.setattr(night, "LOGS", tmp_path)
    monkeypatch.setattr(night, "run", run)
    assert night.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [
        ["ok", "one"],
        ["FAILED", "two"],
        ["ok", "three"],
    ]
    assert lines[3].startswith("night: 2 passed, 1 failed")
    assert night.main(["one"]) == 0
    assert night.main(["four"]) == 2


def test_a_night_that_was_interrupted_runs_what_has_not_passed_at_this_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[str] = []
    commit = ["first"]

    def run(recipe: Sequence[str]) -> night.Outcome:
        ran.append(recipe[0])
        return night.Outcome(recipe[0], recipe[0] != "two", 61.0, "the last line")

    def continued() -> list[str]:
        ran.clear()
        night.main(["--continue"])
        return list(ran)

    monkeypatch.setattr(night, "RECIPES", (("one",), ("two",), ("three",)))
    monkeypatch.setattr(night, "LOGS", tmp_path)
    monkeypatch.setattr(night, "run", run)
    monkeypatch.setattr(night, "_commit", lambda: commit[0])
    night.main(["one", "two"])
    assert continued() == ["two", "three"]
    commit[0] = "second"
    assert continued() == ["one", "two", "three"]
    commit[0] = ""  # with uncommitted changes, no result is of a commit
    assert continued() == ["one", "two", "three"] == continued()


def test_two_recipes_run_at_once_and_those_that_measure_time_alone_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    both = threading.Barrier(2)
    ended: list[str] = []

    def run(recipe: Sequence[str]) -> night.Outcome:
        if recipe[0] not in night.ALONE:
            both.wait(timeout=10)
        ended.append(recipe[0])
        return night.Outcome(recipe[0], True, 1.0, "the last line")

    monkeypatch.setattr(night, "RECIPES", (("bench",), ("one",), ("two",)))
    monkeypatch.setattr(night, "LOGS", tmp_path)
    monkeypatch.setattr(night, "run", run)
    assert night.main(["--at-once", "2"]) == 0
    assert set(ended[:2]) == {"one", "two"}
    assert ended[2] == "bench"
