"""The long checks: what they run exists, and a failure of one is a failure of all."""

import re
import subprocess
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


def keep_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a night write into this folder and nowhere else."""
    monkeypatch.setattr(night, "LOGS", folder)
    monkeypatch.setattr(night, "PASSED", folder / "passed.json")


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
    keep_in(tmp_path, monkeypatch)
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


def test_a_night_that_was_interrupted_runs_what_has_not_passed_with_these_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[str] = []
    files = ["first"]

    def run(recipe: Sequence[str]) -> night.Outcome:
        ran.append(recipe[0])
        return night.Outcome(recipe[0], recipe[0] != "two", 61.0, "the last line")

    def continued() -> set[str]:
        ran.clear()
        night.main(["--continue"])
        return set(ran)

    monkeypatch.setattr(night, "RECIPES", (("one",), ("two",), ("three",)))
    keep_in(tmp_path, monkeypatch)
    monkeypatch.setattr(night, "run", run)
    monkeypatch.setattr(night, "hash_of_files", lambda: files[0])
    night.main(["one", "two"])
    assert continued() == {"two", "three"}
    assert set(night.read_passed()) == {"one", "three"}
    files[0] = "second"
    assert continued() == {"one", "two", "three"}
    files[0] = ""  # with uncommitted changes, no result is kept
    assert continued() == {"one", "two", "three"} == continued()


def test_a_recipe_that_fails_has_not_passed_any_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keep_in(tmp_path, monkeypatch)
    night.keep(night.Outcome("one", True, 61.0, "held"), "files")
    night.keep(night.Outcome("one", False, 61.0, "broken"), "other files")
    assert night.read_passed()["one"].last_line == "held"
    night.keep(night.Outcome("one", False, 61.0, "broken"), "files")
    assert night.read_passed() == {}


def test_the_files_of_a_night_are_all_but_its_record_and_the_changelog(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def git(*words: str) -> None:
        name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit(path: str) -> str:
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{file.exists()}")
        git("add", ".")
        git("commit", "-m", "a change")
        return night.hash_of_files()

    git("init")
    monkeypatch.chdir(tmp_path)
    first = commit("code.py")
    assert first == commit("proofs/passed.json") == commit("CHANGELOG.md") != ""
    (tmp_path / "code.py").write_text("changed")
    assert night.hash_of_files() == ""
    assert commit("code.py") not in ("", first)


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
    keep_in(tmp_path, monkeypatch)
    monkeypatch.setattr(night, "run", run)
    assert night.main(["--at-once", "2"]) == 0
    assert set(ended[:2]) == {"one", "two"}
    assert ended[2] == "bench"
