"""Test runs are recognized, and their output is parsed."""

import pytest

from sapwood.analysis.ledger.operations.simple_commands import simple_commands
from sapwood.analysis.ledger.runs.command_names import named_command
from sapwood.analysis.ledger.runs.run_records import runs_tests
from sapwood.analysis.ledger.runs.suite_results import runner_family, suite_result


@pytest.mark.parametrize(
    ("line", "family"),
    [
        ("pytest -q tests", "pytest"),
        ("CI=1 python3.12 -m pytest", "pytest"),
        ("uv run pytest -x", "pytest"),
        ("poetry run python -m unittest", "pytest"),
        ("python manage.py test shop", "pytest"),
        ("cargo test --workspace", "cargo"),
        ("cargo nextest run", "cargo"),
        ("go test ./...", "go"),
        ("npm test", "javascript"),
        ("npm run test:unit -- --watch=false", "javascript"),
        ("npx jest src/a.test.ts", "javascript"),
        ("pnpm vitest run", ""),
        ("npx vitest run", "javascript"),
        ("yarn test", "javascript"),
        ("npx playwright test", "javascript"),
        ("node --test", "javascript"),
        ("./gradlew test", "java"),
        ("mvn -q verify", "java"),
        ("dotnet test", "dotnet"),
        ("bundle exec rspec spec/a_spec.rb", "ruby"),
        ("vendor/bin/phpunit", "php"),
        ("mix test", "elixir"),
        ("make test", "make"),
        ("npm run build", ""),
        ("cargo build", ""),
        ("git commit -m 'add test'", ""),
        ("npx playwright install", ""),
    ],
)
def test_which_commands_run_tests(line: str, family: str) -> None:
    assert runner_family(named_command(simple_commands(line)[-1])) == family


@pytest.mark.parametrize(
    ("output", "passed", "failed", "names"),
    [
        ("..F\nFAILED t.py::test_a - E\n1 failed, 2 passed in 0.1s", 2, 1, ("t.py::test_a",)),
        ("=== 3 passed, 1 skipped in 0.20s ===", 3, 0, ()),
        ("ERROR t.py::test_a\n2 passed, 1 error in 0.4s", 2, 1, ("t.py::test_a",)),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1)", 3, 2, ()),
        ("FAIL: test_x (a.B)\nRan 2 tests in 0s\n\nFAILED (failures=1)", 1, 1, ("test_x (a.B)",)),
        (
            "test a::b ... FAILED\ntest result: FAILED. 4 passed; 1 failed; 0 ignored\n",
            4,
            1,
            ("a::b",),
        ),
        ("test result: ok. 4 passed; 0 failed\ntest result: ok. 2 passed; 0 failed", 6, 0, ()),
        ("--- FAIL: TestX (0.0s)\nFAIL\nFAIL\ta/b\t0.1s", 0, 1, ("TestX",)),
        ("ok  \ta/b\t0.1s\nok  \ta/c\t(cached)", 2, 0, ()),
        ("Tests:       1 failed, 13 passed, 14 total", 13, 1, ()),
        ("  ✕ adds (3 ms)\n\n  ● adds\n\nTests: 1 failed, 1 total", 0, 1, ("adds",)),
        (" Tests  2 failed | 9 passed (11)", 9, 2, ()),
        ("  5 passing (20ms)\n  1 failing", 5, 1, ()),
        ("10 examples, 2 failures\n\nrspec ./a_spec.rb:3 # x", 8, 2, ("./a_spec.rb:3",)),
        ("Tests run: 5, Failures: 1, Errors: 1, Skipped: 0", 3, 2, ()),
        ("OK (12 tests, 30 assertions)", 12, 0, ()),
        ("no summary at all", None, None, ()),
    ],
)
def test_the_result_in_the_output(
    output: str, passed: int | None, failed: int | None, names: tuple[str, ...]
) -> None:
    suite = suite_result(output)
    assert (suite.passed, suite.failed, suite.names) == (passed, failed, names)


def test_a_line_runs_tests_even_without_output() -> None:
    assert runs_tests(simple_commands("cd app && npm run test:unit"))
    assert not runs_tests(simple_commands("cat test.log"))
