"""Tracks failures: checks that failed and did not pass later, and deeds that were not done later.

The newest run of a command decides. For tests with known names this is decided test by test: a
full run decides for all tests, a run of some files for the tests in them.

Whether a failed command still matters later: a check, a deed, or neither.

A check (tests, build, linter, a script of the project) fails until it passes. A deed (push, deploy,
migration) is open until it is done. File operations, installations and probes are neither: a failed
one says something about that moment only. A program that is not known is neither.
"""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs

from sapwood.analysis.ledger.entries import Failing, Outcome
from sapwood.analysis.ledger.runs.command_names import NamedCommand
from sapwood.analysis.ledger.runs.suite_results import SuiteResult

_ALL_TESTS = frozenset({".", "./...", "...", "all"})
_FILTER_OPTIONS = frozenset(
    "-k -t -g -m -run --run --grep --filter --tests --testNamePattern".split()
)
_VALUE_OPTIONS = frozenset("-n -p -c -o -W -j -C --tb --cov --project --config --reporter".split())
# Patterns are texts: they are compiled when a command fails.
_FAILED_FILE = r"(?m)^[ \t]*FAIL[ \t]+(\S+)"
_MISTAKEN = (
    r"(?mi)command not found|: not found$|Missing script|unrecognized arguments?|No such option"
    r"|unknown (?:option|command|flag|argument)|can't open file|is not recognized|invalid option"
    r"|Usage: |Could not find (?:a )?(?:task|script)|usage: \S+ \["
)
_ERROR_LINE = (
    r"(?i)^E\s{2,}\S|error(?:\[\w+\])?:|\w*(?:Error|Exception)\b|^fatal:|panicked at|FAILED|ERR!"
    r"|denied|refused|not found|cannot |timed out"
)
_MAX_ERROR = 200


class RunAttempt(Struct, frozen=True):
    """One run of a command line.

    `parts` are its commands. `completed` are the names of the parts that succeeded if the whole
    line succeeded.
    """

    command: str
    turn: int
    outcome: Outcome
    exit_code: int | None
    output: str
    parts: tuple[NamedCommand, ...]
    completed: tuple[str, ...] = ()
    piped_into: bool = False
    runner: str = ""
    suite: SuiteResult = SuiteResult()
    targets: tuple[str, ...] = ()


class _Failure(Struct, frozen=True):
    """A failure without a later success. `mistaken` if the command line itself was wrong.

    A `deed` that another command did in the same turn is done.
    """

    name: str
    failing: Failing
    targets: tuple[str, ...] = ()
    mistaken: bool = False
    deed: bool = False


class FailureTracker:
    """Takes runs in their order and returns what still fails."""

    def __init__(self) -> None:
        self._failures: list[_Failure] = []

    def add(self, run: RunAttempt) -> None:
        """Adds one more run."""
        if run.outcome == "unknown":
            return
        if run.runner:
            self._failures = [
                e for each in self._failures if (e := _after_tests(each, run)) is not None
            ]
        main = _main(run)
        working = [part for part in run.parts if not (part.inspects or part.trivial)]
        if run.outcome == "ok":
            deeds = any(failure_kind(part) == "deed" for part in working)
            self._failures = [
                e
                for e in self._failures
                if e.name not in run.completed
                and not (e.mistaken and working)
                and not (e.deed and deeds and e.failing.turn == run.turn)
            ]
        elif run.runner:
            self._failures.append(_failure(_tests_by(run.runner), run))
        elif main:
            self._failures = [each for each in self._failures if each.name != main.name]
            if kind := failure_kind(main):
                self._failures.append(_failure(main.name, run, deed=kind == "deed"))

    def failing(self) -> tuple[Failing, ...]:
        """Returns what still fails, oldest first."""
        return tuple(each.failing for each in self._failures)


def _tests_by(runner: str) -> str:
    return f"tests by {runner}"


def _main(run: RunAttempt) -> NamedCommand | None:
    """Returns the part that probably failed; None if the line only inspects."""
    if run.piped_into and run.parts[-1].inspects and run.exit_code:
        return None  # a filter without matches
    working = [part for part in run.parts if not (part.inspects or part.trivial)]
    return working[-1] if working else None


def _failure(name: str, run: RunAttempt, *, deed: bool = False) -> _Failure:
    files = re.findall(_FAILED_FILE, run.output) if run.runner else []
    failing = Failing(
        run.command, run.turn, run.exit_code, run.suite.names, _error_line(run.output)
    )
    mistaken = run.exit_code == 127 or bool(re.search(_MISTAKEN, run.output[:2_000]))
    return _Failure(name, failing, (*run.targets, *files), mistaken and not run.suite.names, deed)


def _error_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    found = next(
        (line for line in lines if re.search(_ERROR_LINE, line)), lines[-1] if lines else ""
    )
    return found[:_MAX_ERROR]


def _after_tests(failure: _Failure, run: RunAttempt) -> _Failure | None:
    """Returns a failure after a later test run; None if the run resolves it."""
    if failure.name != _tests_by(run.runner):
        return failure
    targets = [target for target in run.targets if target not in _ALL_TESTS]
    if not targets:
        return None
    tests = [test for test in failure.failing.tests if not _is_within(test, targets)]
    same_target = any(_is_within(target, targets) for target in failure.targets)
    if len(tests) < len(failure.failing.tests):
        resolved = not tests
    else:
        resolved = same_target or not (failure.failing.tests or failure.targets)
    if resolved:
        return None
    return structs.replace(failure, failing=structs.replace(failure.failing, tests=tuple(tests)))


def _is_within(path: str, targets: Sequence[str]) -> bool:
    """Whether a test or a path is one of the targets."""
    bare = path.removeprefix("./")
    for target in targets:
        wanted = target.removeprefix("./").rstrip("/").removesuffix("/...")
        if wanted and (wanted in bare or (bare.split("::")[0] in wanted and "/" in bare)):
            return True
    return False


def tested_targets(arguments: Sequence[str]) -> tuple[str, ...]:
    """Returns the paths, test names and filter words that a test command is limited to."""
    found: list[str] = []
    before = ""
    for argument in arguments:
        option, before = before, ""
        if option in _FILTER_OPTIONS:
            found += re.findall(r"\w{3,}", argument)
        elif option in _VALUE_OPTIONS:
            continue
        elif argument.startswith("-"):
            name, _, value = argument.partition("=")
            before = "" if value else name
            found += re.findall(r"\w{3,}", value) if name in _FILTER_OPTIONS else []
        elif re.search(r"[\w.]", argument) and not argument.isdigit():
            found.append(argument)
    return tuple(found)


FailureKind = Literal["check", "deed", ""]

_NEVER = frozenset(
    "cp mv ln tar unzip zip gzip rsync scp curl wget http ping nc dig nslookup host telnet openssl "
    "ssh psql mysql sqlite3 redis-cli mongo mongosh pip pip3 pipx gem brew apt apt-get dnf apk yum "
    "conda rustup nvm asdf chown chmod tee xargs open code vim".split()
)
_INSTALLS = frozenset(
    "install i ci add remove uninstall get sync update upgrade require download fetch clone pull "
    "login logout init create new config".split()
)
_MANAGERS = frozenset(
    "npm yarn pnpm bun cargo go pip poetry uv pdm hatch bundle composer expo git gh glab deno "
    "flutter dart dotnet".split()
)
_DEEDS = re.compile(
    r"git (?:push|merge|rebase|cherry-pick|revert|commit|am)(?= |$)"
    r"|(?:terraform|tofu|pulumi|helmfile|kubectl|ansible|oc|flux|cdk|sam|serverless)\b.*"
    r" (?:apply|up|deploy|destroy|upgrade|rollout|delete|scale|import|create|patch|sync)\b"
    r"|helm\b.* (?:upgrade|install|rollback|uninstall)\b|docker (?:push|build)\b"
    r"|ansible-playbook\b|twine\b.* upload|alembic\b.* (?:upgrade|downgrade)"
    r"|\S*\b(?:deploy|publish|migrate|release|rollback)(?![a-z])"
    r"|\S+(?: \S+)? \S*(?:deploy|publish|migrate|release|rollback)(?![a-z])"
)
_CHECKS = re.compile(
    r"(?:^|[\s/:_.-])(?:tests?|check|checks|lint|build|compile|tsc|mypy|pyright|ruff|black|eslint"
    r"|prettier|flake8|pylint|biome|validate|verify|typecheck|type-check|types|plan|smoke|bench"
    r"|clippy|fmt|vet|ci|doctor|spec|e2e|shellcheck|xmllint|yamllint|hadolint|actionlint|rubocop"
    r"|stylelint|golangci-lint|phpstan|psalm|pre-commit|cmake|ninja|gcc|clang|javac|rustc"
    r"|xcodebuild|gradle|gradlew|mvn|mvnw|make|just|task|bazel|tox|nox|vite|webpack|rollup"
    r"|esbuild|next|turbo|nx|pytest|jest|vitest|playwright|cypress)(?=$|[\s:_./-])"
)
_TASK_RUNNERS = frozenset("rake rails mix flask django-admin artisan gulp grunt invoke inv".split())
_INTERPRETERS = frozenset("python node bash sh zsh ruby perl php tsx ts-node deno Rscript".split())
_INLINE = frozenset({"-c", "-e", "-p", "-", "--eval", "-i"})
_SCRIPT = re.compile(r"\.{0,2}/?[\w./-]*\w\.(?:py|js|ts|mjs|cjs|sh|rb|pl|php|R)$")


def failure_kind(part: NamedCommand) -> FailureKind:
    """Returns whether the failure of this command is a check or a deed.

    >>> [failure_kind(NamedCommand(name)) for name in ("git push", "cargo build", "cp", "curl")]
    ['deed', 'check', '', '']
    """
    words = part.name.split(" ")
    program = words[0]
    if part.inspects or part.trivial or program in _NEVER or not program:
        return ""
    line = " ".join([part.name, *(text for text in part.arguments[:6] if text[:1] != "-")])
    if program in _MANAGERS and words[1:2] and words[1] in _INSTALLS:
        return ""
    if _DEEDS.match(line):
        return "deed"
    if program in _INTERPRETERS:
        if _INLINE & set(part.arguments) or len(words) < 2:
            return ""
        return "check"
    first = next((text for text in part.arguments if text[:1] != "-"), "")
    if _CHECKS.search(f"{part.name} {first}") or (program in _MANAGERS and words[1:2] == ["run"]):
        return "check"
    if program in _TASK_RUNNERS:
        return "check"
    return "check" if part.is_path or _SCRIPT.match(program) else ""
