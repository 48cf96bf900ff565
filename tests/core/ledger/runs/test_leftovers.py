"""What is left failing at the end."""

import pytest

from sapwood.core.ledger.acts.outcomes import Ended
from sapwood.core.ledger.acts.shell import simple_commands
from sapwood.core.ledger.runs.leftovers import Leftovers
from sapwood.core.ledger.runs.reading import read_run

Run = tuple[str, int, str]


def left(*runs: Run) -> list[str]:
    book = Leftovers()
    for turn, (line, code, output) in enumerate(runs, 1):
        how = Ended("failed" if code else "ok", code, output)
        book.enter(read_run(line, simple_commands(line), how, turn).attempt)
    return [failing.command for failing in book.failing()]


def failed(*tests: str) -> str:
    return "".join(f"FAILED {test}\n" for test in tests) + f"{len(tests)} failed in 1s"


def test_what_failed_last_is_left() -> None:
    assert left(("npm run build", 1, "error")) == ["npm run build"]


def test_what_succeeded_later_is_not() -> None:
    assert left(("npm run build", 1, "error"), ("npm run build -- --x", 0, "")) == []
    assert left(("git push", 1, "rejected"), ("git pull && git push", 0, "")) == []
    assert left(("python3 x.py", 1, "boom"), ("python x.py --fast", 0, "")) == []


def test_another_command_of_the_same_program_settles_nothing() -> None:
    assert left(("npm run build", 1, "error"), ("npm install", 0, "")) == ["npm run build"]
    assert left(("python a.py", 1, "error"), ("python b.py", 0, "")) == ["python a.py"]


def test_a_whole_run_of_the_tests_speaks_for_all_of_them() -> None:
    runs: list[Run] = [("pytest tests/a.py", 1, failed("tests/a.py::t"))]
    assert left(*runs, ("python -m pytest -q", 0, "9 passed in 1s")) == []
    assert left(*runs, ("pytest", 1, failed("tests/a.py::t"))) == ["pytest"]


def test_a_run_of_some_tests_speaks_for_those() -> None:
    whole: Run = ("pytest", 1, failed("tests/a.py::t", "tests/b.py::u"))
    a: Run = ("pytest tests/a.py", 0, "1 passed in 1s")
    b: Run = ("pytest tests/b.py::u", 0, "1 passed in 1s")
    assert left(whole, a) == ["pytest"]
    assert left(whole, a, b) == []
    assert left(whole, ("pytest -k other", 0, "2 passed in 1s")) == ["pytest"]


def test_a_run_of_other_tests_settles_nothing() -> None:
    runs: list[Run] = [("npx jest src/a.test.ts", 1, "FAIL src/a.test.ts\n  ● adds\n")]
    assert left(*runs, ("npx jest src/b.test.ts", 0, "")) == ["npx jest src/a.test.ts"]
    assert left(*runs, ("npx jest src/a.test.ts -t adds", 0, "")) == []


@pytest.mark.parametrize("line", ["grep -rn foo src", "ls missing", "diff a b", "git diff --quiet"])
def test_a_command_that_only_looks_leaves_nothing(line: str) -> None:
    assert left((line, 1, "")) == []


def test_a_filter_that_finds_nothing_leaves_nothing() -> None:
    assert left(("npm run build | grep warning", 1, "")) == []


def test_a_mistyped_command_is_settled_by_the_next_that_works() -> None:
    mistake: Run = ("promtool check x", 127, "bash: promtool: command not found")
    assert left(mistake) == ["promtool check x"]
    assert left(mistake, ("docker run prom/promtool check x", 0, "")) == []


def test_failing_tests_behind_a_pipe_are_seen() -> None:
    assert left(("pytest 2>&1 | tail -3", 0, failed("a.py::t"))) == ["pytest 2>&1 | tail -3"]
    assert left(("npm run build | tail -5", 0, "error TS2304: x")) == ["npm run build | tail -5"]
    assert left(("pytest | tail -3", 0, "3 passed in 1s")) == []


def test_an_exit_code_that_was_printed_counts() -> None:
    assert left(("make all; echo exit=$?", 0, "boom\nexit=2")) == ["make all; echo exit=$?"]


def test_success_that_was_forced_settles_nothing() -> None:
    runs: list[Run] = [("./load.sh", 1, "too slow"), ("(./load.sh || true) && ls", 0, "")]
    assert left(*runs) == ["./load.sh"]
