"""Runs of tests: which command is one, and what its output says about passed and failed.

Each family of runners words its summary in its own way; where the last words of a summary count,
the last match does.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sapwood.core.ledger.runs.naming import Named

__all__ = ["Suite", "runner_of", "told"]

_RUNNERS: tuple[tuple[str, str], ...] = (
    ("pytest", r"pytest|py\.test|unittest|tox|nox|nose2?|hatch test"),
    ("cargo", r"cargo (?:test|t|nextest)"),
    ("go", r"go test|gotestsum|ginkgo"),
    ("javascript", r"jest|vitest|mocha|ava|tap|karma|(?:npm|yarn|pnpm|bun|deno) (?:t|test|tst)"),
    ("javascript", r"(?:npm|yarn|pnpm|bun)(?: run)? (?:test|unit|e2e|spec)[\w:.-]*"),
    ("java", r"(?:mvn|mvnw) (?:test|verify|integration-test)|gradlew?(?: \S*[tT]est| check)"),
    ("dotnet", r"dotnet test"),
    ("ruby", r"rspec|(?:rake|rails) (?:test|spec)|minitest"),
    ("php", r"phpunit|pest|composer test"),
    ("elixir", r"mix test"),
    ("swift", r"swift test"),
    ("c", r"ctest|meson test"),
    ("dart", r"(?:flutter|dart) test"),
    ("shell", r"bats"),
    (
        "make",
        r"(?:make|just|task|nx|turbo|bazel|sbt|turbo run|nx run) (?:test|tests|check|unit)[\w:-]*",
    ),
    (
        "make",
        r"(?:python|node|bash|sh) \S*(?:\btest_\w+|_test|run_tests)\.\w+|run_?tests?(?:\.sh)?",
    ),
)
_RUNNER = tuple((family, re.compile(rf"(?:{names})$")) for family, names in _RUNNERS)


# Programs that run tests only with a certain argument.
_BY_ARGUMENT = {
    "python manage.py": ("pytest", "test"),
    "php artisan": ("php", "test"),
    "xcodebuild": ("swift", "test"),
    "playwright": ("javascript", "test"),
    "cypress": ("javascript", "run"),
    "vendor/bin/sail": ("php", "test"),
}


class Suite(Struct, frozen=True):
    """What the output of a test run tells."""

    passed: int | None = None
    failed: int | None = None
    names: tuple[str, ...] = ()


def runner_of(command: Named) -> str:
    """The family of test runners that a command belongs to; empty if it runs no tests.

    >>> runner_of(Named("npm run test:unit")), runner_of(Named("cargo build"))
    ('javascript', '')
    """
    if command.name in _BY_ARGUMENT:
        family, argument = _BY_ARGUMENT[command.name]
        return family if argument in command.arguments else ""
    if command.name.split(" ")[0] == "node" and "--test" in command.arguments:
        return "javascript"
    return next((family for family, names in _RUNNER if names.match(command.name)), "")


# The groups p, f, e and t are those that passed, failed, ended in an error, and all.
_COUNTS: tuple[tuple[str, str], ...] = (
    (r"^test result: .*?(?P<p>\d+) passed; (?P<f>\d+) failed", "sum"),
    (
        r"^\s*Tests:?\s+(?:(?P<f>\d+) failed[,|\s]+)?(?:\d+ (?:skipped|todo|pending)[,|\s]+)*"
        r"(?:(?P<p>\d+) passed)?.*(?:total|\(\d+\))",
        "last",
    ),
    (r"Tests run: (?P<t>\d+), Failures: (?P<f>\d+), Errors: (?P<e>\d+)", "last"),
    (
        r"(?P<t>\d+) (?:examples?|tests?|runs), (?:\d+ assertions, )?(?P<f>\d+) failures?"
        r"(?:, (?P<e>\d+) errors?)?",
        "last",
    ),
    (r"Failed:\s+(?P<f>\d+), Passed:\s+(?P<p>\d+)", "last"),
    (r"tests passed, (?P<f>\d+) tests failed out of (?P<t>\d+)", "last"),
    (
        r"^Tests: (?P<t>\d+), Assertions: \d+(?:, Errors: (?P<e>\d+))?(?:, Failures: (?P<f>\d+))?",
        "last",
    ),
    (r"^OK \((?P<t>\d+) tests?", "last"),
)
_COUNT = tuple((re.compile(pattern, re.M), how) for pattern, how in _COUNTS)
_PYTEST_LINE = re.compile(
    r"^=*\s*((?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|warnings?|deselected|rerun|"
    r"subtests passed)(?:, )?)+) in [\d.:]+",
    re.M,
)
_UNITTEST = re.compile(r"^Ran (\d+) tests?", re.M)
_UNITTEST_FAILED = re.compile(r"^FAILED \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?", re.M)
_PASSING = re.compile(r"^\s*(?:[#\u2139] )?(?:(\d+) (?:passing|pass|passed)\b|pass (\d+)$)", re.M)
_FAILING = re.compile(r"^\s*(?:[#\u2139] )?(?:(\d+) (?:failing|fail|failed)\b|fail (\d+)$)", re.M)
_GO_PASS = re.compile(r"^(?:--- PASS: |ok\s+\S+)", re.M)
_GO_FAIL = re.compile(r"^\s*--- FAIL: (\S+)", re.M)
_GO_BROKEN = re.compile(r"^FAIL\s+(\S+)", re.M)

_NAMES = (
    re.compile(r"^(?:FAILED|ERROR)\s+(\S+?::.+?)(?: - .*)?$", re.M),
    re.compile(r"^test (\S+) \.\.\. FAILED", re.M),
    _GO_FAIL,
    re.compile(r"^\s*●\s+(?!Console|Test suite failed)(\S.*?)\s*$", re.M),
    re.compile(r"^\s*FAIL\s+\S+ > (.+?)\s*$", re.M),
    re.compile(
        r"^\s*(?:✕|✗|✖|×|✘)\s+(?!\d+ problems?)(\S.*?)(?:\s+\(?\d+(?:\.\d+)?\s?m?s\)?)?\s*$", re.M
    ),
    re.compile(r"^(?:FAIL|ERROR): (\w+ \([\w.]+\))", re.M),
    re.compile(r"^rspec (\S+)", re.M),
    re.compile(r"^\s*Failed (\S+) \[", re.M),
    re.compile(r"^(\S+ > .+?) FAILED\s*$", re.M),
    re.compile(r"^\[ERROR\]\s+(\w+\.\w+):\d+", re.M),
    re.compile(r"^not ok \d+ -? ?(.+?)\s*$", re.M),
    re.compile(r"^\s*\d+\) (?:test )?(\S.*?)\s*(?:\(\S+\))?:?$(?=\n\s+\S)", re.M),
)
_MOST_NAMES = 50


def told(output: str) -> Suite:
    """What the output of a test run tells.

    >>> told("FAILED tests/test_a.py::test_b - assert 1 == 2\\n1 failed, 2 passed in 0.1s")
    Suite(passed=2, failed=1, names=('tests/test_a.py::test_b',))
    """
    passed, failed = _counts(output)
    names: tuple[str, ...] = ()
    if failed != 0:
        names = tuple(dict.fromkeys(_names(output)))[:_MOST_NAMES]
    if failed is None and names:
        failed = len(names)
    return Suite(passed, failed, names)


def _names(output: str) -> Iterator[str]:
    for pattern in _NAMES:
        found = [each[1] for each in pattern.finditer(output)]
        if found:
            yield from found
            return


def _counts(output: str) -> tuple[int | None, int | None]:
    if lines := _PYTEST_LINE.findall(output):
        return _listed(lines[-1], "passed"), _listed(lines[-1], "failed", "error")
    for pattern, how in _COUNT:
        if matches := list(pattern.finditer(output)):
            chosen = matches if how == "sum" else matches[-1:]
            return _summed(chosen)
    if ran := _UNITTEST.findall(output):
        failures = _UNITTEST_FAILED.findall(output)
        failed = sum(int(number) for number in failures[-1] if number) if failures else 0
        return int(ran[-1]) - failed, failed
    if fails := len(_GO_FAIL.findall(output)) or len(_GO_BROKEN.findall(output)):
        return len(_GO_PASS.findall(output)), fails
    if passes := len(_GO_PASS.findall(output)):
        return passes, 0
    passing, failing = _first(_PASSING.findall(output)), _first(_FAILING.findall(output))
    if passing is not None and failing is None:
        failing = 0
    return passing, failing


def _listed(line: str, *kinds: str) -> int:
    found = re.findall(rf"(\d+) (?:{'|'.join(kinds)})", line)
    return sum(int(number) for number in found)


def _summed(matches: Sequence[re.Match[str]]) -> tuple[int, int]:
    passed = failed = 0
    for match in matches:
        groups = match.groupdict()
        bad = int(groups.get("f") or 0) + int(groups.get("e") or 0)
        good = int(groups.get("t") or 0) - bad if groups.get("t") else int(groups.get("p") or 0)
        passed, failed = passed + good, failed + bad
    return passed, failed


def _first(found: Sequence[tuple[str, str]]) -> int | None:
    numbers = [int(a or b) for a, b in found]
    return numbers[-1] if numbers else None
