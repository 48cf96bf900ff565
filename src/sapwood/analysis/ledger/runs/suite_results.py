"""Test runs: which command runs tests, and how many passed and failed according to its output.

Each family of test runners has its own summary format. Patterns are texts: they are compiled when
the output of a test run is read.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sapwood.analysis.ledger.runs.command_names import NamedCommand

_FAMILIES = {
    "pytest": "pytest|py.test|unittest|tox|nox|nose|nose2|hatch test",
    "cargo": "cargo test|cargo t|cargo nextest",
    "go": "go test|gotestsum|ginkgo",
    "javascript": "jest|vitest|mocha|ava|tap|karma|npm t|npm tst|deno test|bun test",
    "java": "mvn test|mvn verify|mvn integration-test|mvnw test|mvnw verify|gradle check"
    "|gradlew check",
    "dotnet": "dotnet test",
    "ruby": "rspec|rake test|rake spec|rails test|rails spec|minitest",
    "php": "phpunit|pest|composer test",
    "elixir": "mix test",
    "swift": "swift test",
    "c": "ctest|meson test",
    "dart": "flutter test|dart test",
    "shell": "bats",
}
_RUNNERS = {name: family for family, names in _FAMILIES.items() for name in names.split("|")}
_TEST_HINT = re.compile(r"test|unit|e2e|spec|check", re.IGNORECASE)
_SCRIPTS = (
    ("javascript", r"(?:npm|yarn|pnpm|bun)(?: run)? (?:test|unit|e2e|spec)[\w:.-]*$"),
    ("java", r"gradlew? \S*[tT]est$"),
    ("make", r"(?:make|just|task|nx|turbo|bazel|sbt)(?: run)? (?:test|check|unit)[\w:-]*$"),
    ("make", r"(?:python|node|bash|sh) \S*(?:\btest_\w+|_test|run_tests)\.\w+$"),
    ("make", r"run_?tests?(?:\.sh)?$"),
)
# Programs that run tests only with this argument.
_BY_ARGUMENT = {
    "python manage.py": ("pytest", "test"),
    "php artisan": ("php", "test"),
    "xcodebuild": ("swift", "test"),
    "playwright": ("javascript", "test"),
    "cypress": ("javascript", "run"),
    "vendor/bin/sail": ("php", "test"),
}


class SuiteResult(Struct, frozen=True):
    """The counts of passed and failed tests, and the names of the failed ones, if reported."""

    passed: int | None = None
    failed: int | None = None
    names: tuple[str, ...] = ()


def runner_family(command: NamedCommand) -> str:
    """Returns the family of the test runner; empty if the command runs no tests.

    >>> runner_family(NamedCommand("npm run test:unit")), runner_family(NamedCommand("cargo build"))
    ('javascript', '')
    """
    if command.name in _BY_ARGUMENT:
        family, argument = _BY_ARGUMENT[command.name]
        return family if argument in command.arguments else ""
    if command.name.split(" ")[0] == "node" and "--test" in command.arguments:
        return "javascript"
    if command.name in _RUNNERS:
        return _RUNNERS[command.name]
    if not _TEST_HINT.search(command.name):
        return ""
    return next((family for family, name in _SCRIPTS if re.match(name, command.name)), "")


# The groups p, f, e and t count the tests that passed, failed, ended with an error, and all.
_COUNTS: tuple[tuple[str, str], ...] = (
    (r"^test result: .*?(?P<p>\d+) passed; (?P<f>\d+) failed", "sum"),
    (
        r"^[ \t]*Tests:?[ \t]+(?:(?P<f>\d+) failed[,|\s]+)?(?:\d+ (?:skipped|todo|pending)[,|\s]+)*"
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
_PYTEST_LINE = (
    r"^=*[ \t]*((?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|warnings?|deselected|rerun|"
    r"subtests passed)(?:, )?)+) in [\d.:]+"
)
_UNITTEST = r"^Ran (\d+) tests?"
_UNITTEST_FAILED = r"^FAILED \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?"
_PASSING = r"^[ \t]*(?:[#\u2139] )?(?:(\d+) (?:passing|pass|passed)\b|pass (\d+)$)"
_FAILING = r"^[ \t]*(?:[#\u2139] )?(?:(\d+) (?:failing|fail|failed)\b|fail (\d+)$)"
_GO_PASS = r"^(?:--- PASS: |ok[ \t]+\S+)"
_GO_FAIL = r"^[ \t]*--- FAIL: (\S+)"
_GO_BROKEN = r"^FAIL[ \t]+(\S+)"

_NAMES = (
    r"^(?:FAILED|ERROR)[ \t]+(\S+?::.+?)(?: - .*)?$",
    r"^test (\S+) \.\.\. FAILED",
    _GO_FAIL,
    r"^[ \t]*●[ \t]+(?!Console|Test suite failed)(\S.*?)[ \t\r]*$",
    r"^[ \t]*FAIL[ \t]+\S+ > (.+?)[ \t\r]*$",
    r"^[ \t]*(?:✕|✗|✖|×|✘)[ \t]+(?!\d+ problems?)(\S.*?)(?:[ \t]+\(?\d+(?:\.\d+)?\s?m?s\)?)?"
    r"[ \t\r]*$",
    r"^(?:FAIL|ERROR): (\w+ \([\w.]+\))",
    r"^rspec (\S+)",
    r"^[ \t]*Failed (\S+) \[",
    r"^(\S+ > .+?) FAILED[ \t\r]*$",
    r"^\[ERROR\][ \t]+(\w+\.\w+):\d+",
    r"^not ok \d+ -? ?(.+?)[ \t\r]*$",
    r"^[ \t]*\d+\) (?:test )?(\S.*?)[ \t]*(?:\(\S+\))?:?$(?=\n[ \t]+\S)",
)
_MAX_NAMES = 50
_MAX_OUTPUT = 100_000
"""Characters at the end of an output that are searched; a summary comes last."""


def suite_result(output: str) -> SuiteResult:
    """Returns the result in the output of a test run.

    >>> suite_result("FAILED tests/test_a.py::test_b - assert 1 == 2\\n1 failed, 2 passed in 0.1s")
    SuiteResult(passed=2, failed=1, names=('tests/test_a.py::test_b',))
    """
    output = output[-_MAX_OUTPUT:]
    passed, failed = _counts(output)
    names: tuple[str, ...] = ()
    if failed != 0:
        names = tuple(dict.fromkeys(_names(output)))[:_MAX_NAMES]
    if failed is None and names:
        failed = len(names)
    return SuiteResult(passed, failed, names)


def _names(output: str) -> Iterator[str]:
    for pattern in _NAMES:
        found = [each[1] for each in re.finditer(pattern, output, re.M)]
        if found:
            yield from found
            return


def _counts(output: str) -> tuple[int | None, int | None]:
    if lines := re.findall(_PYTEST_LINE, output, re.M):
        return _count(lines[-1], "passed"), _count(lines[-1], "failed", "error")
    for pattern, rule in _COUNTS:
        if matches := list(re.finditer(pattern, output, re.M)):
            chosen = matches if rule == "sum" else matches[-1:]
            return _summed(chosen)
    if ran := re.findall(_UNITTEST, output, re.M):
        failures = re.findall(_UNITTEST_FAILED, output, re.M)
        failed = sum(int(number) for number in failures[-1] if number) if failures else 0
        return int(ran[-1]) - failed, failed
    if fails := len(re.findall(_GO_FAIL, output, re.M)) or len(
        re.findall(_GO_BROKEN, output, re.M)
    ):
        return len(re.findall(_GO_PASS, output, re.M)), fails
    if passes := len(re.findall(_GO_PASS, output, re.M)):
        return passes, 0
    passing, failing = (
        _last_number(re.findall(_PASSING, output, re.M)),
        _last_number(re.findall(_FAILING, output, re.M)),
    )
    if passing is not None and failing is None:
        failing = 0
    return passing, failing


def _count(line: str, *kinds: str) -> int:
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


def _last_number(found: Sequence[tuple[str, str]]) -> int | None:
    numbers = [int(a or b) for a, b in found]
    return numbers[-1] if numbers else None
