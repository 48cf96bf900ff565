"""Which commands still fail at the end."""

import pytest

from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome
from sapwood.analysis.ledger.operations.simple_commands import simple_commands
from sapwood.analysis.ledger.runs.failure_tracker import FailureTracker
from sapwood.analysis.ledger.runs.run_records import record_run

Run = tuple[str, int, str]


def still_failing(*runs: Run) -> list[str]:
    tracker = FailureTracker()
    for turn, (line, code, output) in enumerate(runs, 1):
        outcome = CallOutcome("failed" if code else "ok", code, output)
        tracker.add(record_run(line, simple_commands(line), outcome, turn).attempt)
    return [failing.command for failing in tracker.failing()]


def failed(*tests: str) -> str:
    return "".join(f"FAILED {test}\n" for test in tests) + f"{len(tests)} failed in 1s"


def test_a_failed_command_still_fails() -> None:
    assert still_failing(("npm run build", 1, "error")) == ["npm run build"]


def test_a_later_success_resolves_a_failure() -> None:
    assert still_failing(("npm run build", 1, "error"), ("npm run build -- --x", 0, "")) == []
    assert still_failing(("git push", 1, "rejected"), ("git pull && git push", 0, "")) == []
    assert still_failing(("python3 x.py", 1, "boom"), ("python x.py --fast", 0, "")) == []


def test_another_command_of_the_same_program_resolves_nothing() -> None:
    assert still_failing(("npm run build", 1, "error"), ("npm install", 0, "")) == ["npm run build"]
    assert still_failing(("python a.py", 1, "error"), ("python b.py", 0, "")) == ["python a.py"]


def test_a_full_test_run_decides_for_all_tests() -> None:
    runs: list[Run] = [("pytest tests/a.py", 1, failed("tests/a.py::t"))]
    assert still_failing(*runs, ("python -m pytest -q", 0, "9 passed in 1s")) == []
    assert still_failing(*runs, ("pytest", 1, failed("tests/a.py::t"))) == ["pytest"]


def test_a_run_of_some_tests_decides_for_those() -> None:
    whole: Run = ("pytest", 1, failed("tests/a.py::t", "tests/b.py::u"))
    a: Run = ("pytest tests/a.py", 0, "1 passed in 1s")
    b: Run = ("pytest tests/b.py::u", 0, "1 passed in 1s")
    assert still_failing(whole, a) == ["pytest"]
    assert still_failing(whole, a, b) == []
    assert still_failing(whole, ("pytest -k other", 0, "2 passed in 1s")) == ["pytest"]


def test_a_run_of_other_tests_resolves_nothing() -> None:
    runs: list[Run] = [("npx jest src/a.test.ts", 1, "FAIL src/a.test.ts\n  ● adds\n")]
    assert still_failing(*runs, ("npx jest src/b.test.ts", 0, "")) == ["npx jest src/a.test.ts"]
    assert still_failing(*runs, ("npx jest src/a.test.ts -t adds", 0, "")) == []


@pytest.mark.parametrize("line", ["grep -rn foo src", "ls missing", "diff a b", "git diff --quiet"])
def test_an_inspecting_command_is_no_failure(line: str) -> None:
    assert still_failing((line, 1, "")) == []


def test_a_filter_without_matches_is_no_failure() -> None:
    assert still_failing(("npm run build | grep warning", 1, "")) == []


def test_the_next_success_resolves_a_mistyped_command() -> None:
    mistake: Run = ("promtool check x", 127, "bash: promtool: command not found")
    assert still_failing(mistake) == ["promtool check x"]
    assert still_failing(mistake, ("docker run prom/promtool check x", 0, "")) == []


def test_failing_tests_before_a_pipe_are_found() -> None:
    assert still_failing(("pytest 2>&1 | tail -3", 0, failed("a.py::t"))) == [
        "pytest 2>&1 | tail -3"
    ]
    assert still_failing(("npm run build | tail -5", 0, "error TS2304: x")) == [
        "npm run build | tail -5"
    ]
    assert still_failing(("pytest | tail -3", 0, "3 passed in 1s")) == []


def test_an_exit_code_that_was_printed_counts() -> None:
    assert still_failing(("make all; echo exit=$?", 0, "boom\nexit=2")) == [
        "make all; echo exit=$?"
    ]


def test_a_forced_success_resolves_nothing() -> None:
    runs: list[Run] = [("./load.sh", 1, "too slow"), ("(./load.sh || true) && ls", 0, "")]
    assert still_failing(*runs) == ["./load.sh"]


@pytest.mark.parametrize(
    "line",
    [
        "cp ../assets/a.ttf fonts/",
        "mkdir -p x && mv a x/",
        "pip install weasyprint",
        "npm ci",
        "go get example.com/x",
        "curl -sf https://shop.example/health",
        "ssh web 'uptime'",
        'python -c "import weasyprint"',
        "kubectl -n shop get pods",
        "kubectl -n shop logs api",
        "psql -c 'select 1'",
        "git stash pop",
        "unknowntool --flag",
    ],
)
def test_file_operations_installs_and_probes_do_not_stand_as_failing(line: str) -> None:
    assert still_failing((line, 1, "error: no")) == []


@pytest.mark.parametrize(
    "line",
    [
        "git push origin main",
        "terraform -chdir=envs/prod apply x.tfplan",
        "helm -n shop upgrade api charts/api",
        "npm run deploy",
        "./scripts/certs-check.sh img",
        "ruff check app",
        "npx eslint src",
        "python tools/export.py",
        "flask sepa-export",
    ],
)
def test_checks_and_deeds_stand_until_they_succeed(line: str) -> None:
    assert still_failing((line, 1, "error: no")) == [line]
    assert still_failing((line, 1, "error: no"), (line, 0, "")) == []


def test_a_deed_that_another_command_did_in_the_same_turn_is_done() -> None:
    tracker = FailureTracker()
    for line, code in (("helmfile -l name=api apply", 1), ("helm upgrade api charts/api", 0)):
        outcome = CallOutcome("failed" if code else "ok", code, "err: no releases found")
        tracker.add(record_run(line, simple_commands(line), outcome, 1).attempt)
    assert tracker.failing() == ()
