"""One run of a command line: how it ended, and what it was, read from the line and its output."""

import re

from msgspec import Struct

from sapwood.core.ledger.acts.outcomes import Ended
from sapwood.core.ledger.acts.shell import Simple
from sapwood.core.ledger.entries import CommandRun, Outcome, SuiteRun
from sapwood.core.ledger.runs.leftovers import Attempt, targets_of
from sapwood.core.ledger.runs.naming import Named, named
from sapwood.core.ledger.runs.suites import Suite, runner_of, told

__all__ = ["RunRead", "read_run", "runs_tests"]

# What a program says when it fails, for lines whose own exit code is that of another program.
_TROUBLE = re.compile(
    r"^(?:error(?:\[\w+\])?: |npm (?:ERR!|error)|Traceback \(most recent|fatal: |make: \*\*\* "
    r"|ERROR: |BUILD FAILED|FAILURE: |Error: |\S+: command not found)|error TS\d+:|ELIFECYCLE"
    r"|\bcommand not found$|✖ \d+ problems? \([1-9]",
    re.M,
)
_STATUS_SHOWN = re.compile(r"\$\??\{?(?:\?|PIPESTATUS)")
_LAST_NUMBER = re.compile(r"(-?\d+)\W*\Z")


class RunRead(Struct, frozen=True):
    """A run as the ledger lists it, as a test run if it was one, and for what it leaves."""

    run: CommandRun
    suite: SuiteRun | None
    attempt: Attempt


def read_run(command: str, commands: tuple[Simple, ...], how: Ended, turn: int) -> RunRead:
    """What a run of these commands was and how it ended."""
    parts = tuple(named(each) for each in commands)
    runner, tests = _tests_of(parts)
    suite = told(how.output) if runner else Suite()
    outcome, code = _outcome(commands, parts, how, suite)
    line = command.strip()
    ran = SuiteRun(line, tests.name, outcome, suite.passed, suite.failed, turn) if runner else None
    attempt = Attempt(
        line,
        turn,
        outcome,
        code,
        how.output,
        parts,
        done=tuple(p.name for p, c in zip(parts, commands, strict=True) if c.after != "||"),
        piped_into=len(commands) > 1 and commands[-1].before in ("|", "|&"),
        runner=runner,
        suite=suite,
        targets=targets_of(tests.arguments),
    )
    return RunRead(CommandRun(line, outcome, code, turn), ran, attempt)


def runs_tests(commands: tuple[Simple, ...]) -> bool:
    """Whether one of these commands is a run of tests."""
    return bool(_tests_of(tuple(named(each) for each in commands))[0])


def _tests_of(parts: tuple[Named, ...]) -> tuple[str, Named]:
    for part in parts:
        if runner := runner_of(part):
            return runner, part
    return "", Named("")


def _outcome(
    commands: tuple[Simple, ...], parts: tuple[Named, ...], how: Ended, suite: Suite
) -> tuple[Outcome, int | None]:
    """How it ended. Where the exit code is another program's, the output is asked."""
    if how.outcome != "ok" or not commands:
        return how.outcome, how.exit_code
    shown = _shown_status(commands, how.output)
    if shown is not None:
        return ("failed" if shown else "ok"), shown
    if not _is_masked(commands, parts):
        return "ok", how.exit_code
    if suite.failed or (suite.passed is None and _TROUBLE.search(how.output)):
        return "failed", how.exit_code
    return "ok", how.exit_code


def _shown_status(commands: tuple[Simple, ...], output: str) -> int | None:
    """The code that a closing `echo $?` printed."""
    last = commands[-1].texts
    if len(commands) < 2 or last[:1] != ("echo",) or not _STATUS_SHOWN.search(" ".join(last)):
        return None
    found = _LAST_NUMBER.search(output.rstrip())
    return int(found[1]) if found else None


def _is_masked(commands: tuple[Simple, ...], parts: tuple[Named, ...]) -> bool:
    """Whether the line's exit code says nothing of the command that does its work."""
    at_work = [n for n, part in enumerate(parts) if not (part.looks or part.trivial)]
    if not at_work:
        return False
    after = commands[at_work[-1]].after
    return after in ("|", "|&", "||") or (after in (";", "\n") and at_work[-1] < len(commands) - 1)
