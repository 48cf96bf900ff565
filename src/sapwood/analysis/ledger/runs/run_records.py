"""One run of a command line: its outcome and its tests, read from the line and its output."""

import re

from msgspec import Struct

from sapwood.analysis.ledger.entries import CommandRun, Outcome, SuiteRun
from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome
from sapwood.analysis.ledger.operations.simple_commands import SimpleCommand
from sapwood.analysis.ledger.runs.command_names import NamedCommand, named_command
from sapwood.analysis.ledger.runs.failure_tracker import RunAttempt, tested_targets
from sapwood.analysis.ledger.runs.suite_results import SuiteResult, runner_family, suite_result

# Error messages, for lines whose exit code is that of another program.
_ERROR_MESSAGE = re.compile(
    r"^(?:error(?:\[\w+\])?: |npm (?:ERR!|error)|Traceback \(most recent|fatal: |make: \*\*\* "
    r"|ERROR: |BUILD FAILED|FAILURE: |Error: |\S+: command not found)|error TS\d+:|ELIFECYCLE"
    r"|\bcommand not found$|✖ \d+ problems? \([1-9]",
    re.M,
)
_STATUS_PRINTED = re.compile(r"\$\??\{?(?:\?|PIPESTATUS)")
_LAST_NUMBER = re.compile(r"(-?\d+)\W*\Z")


class RunRecord(Struct, frozen=True):
    """A run as the ledger lists it, its test results if it ran tests, and its attempt."""

    run: CommandRun
    suite: SuiteRun | None
    attempt: RunAttempt


def record_run(
    command: str, commands: tuple[SimpleCommand, ...], call_outcome: CallOutcome, turn: int
) -> RunRecord:
    """Returns the record of a run of these commands."""
    parts = tuple(named_command(each) for each in commands)
    runner, tests = _test_command(parts)
    suite = suite_result(call_outcome.output) if runner else SuiteResult()
    outcome, code = _outcome(commands, parts, call_outcome, suite)
    line = command.strip()
    ran = SuiteRun(line, tests.name, outcome, suite.passed, suite.failed, turn) if runner else None
    attempt = RunAttempt(
        line,
        turn,
        outcome,
        code,
        call_outcome.output,
        parts,
        completed=tuple(p.name for p, c in zip(parts, commands, strict=True) if c.after != "||"),
        piped_into=len(commands) > 1 and commands[-1].before in ("|", "|&"),
        runner=runner,
        suite=suite,
        targets=tested_targets(tests.arguments),
    )
    return RunRecord(CommandRun(line, outcome, code, turn), ran, attempt)


def runs_tests(commands: tuple[SimpleCommand, ...]) -> bool:
    """Whether one of these commands runs tests."""
    return bool(_test_command(tuple(named_command(each) for each in commands))[0])


def _test_command(parts: tuple[NamedCommand, ...]) -> tuple[str, NamedCommand]:
    for part in parts:
        if runner := runner_family(part):
            return runner, part
    return "", NamedCommand("")


def _outcome(
    commands: tuple[SimpleCommand, ...],
    parts: tuple[NamedCommand, ...],
    call_outcome: CallOutcome,
    suite: SuiteResult,
) -> tuple[Outcome, int | None]:
    """Returns the outcome and the exit code; if the exit code is masked, the output decides."""
    if call_outcome.status != "ok" or not commands:
        return call_outcome.status, call_outcome.exit_code
    printed = _printed_status(commands, call_outcome.output)
    if printed is not None:
        return ("failed" if printed else "ok"), printed
    if not _is_masked(commands, parts):
        return "ok", call_outcome.exit_code
    if suite.failed or (suite.passed is None and _ERROR_MESSAGE.search(call_outcome.output)):
        return "failed", call_outcome.exit_code
    return "ok", call_outcome.exit_code


def _printed_status(commands: tuple[SimpleCommand, ...], output: str) -> int | None:
    """Returns the exit code that an `echo $?` at the end of the line printed."""
    last = commands[-1].texts
    if len(commands) < 2 or last[:1] != ("echo",) or not _STATUS_PRINTED.search(" ".join(last)):
        return None
    found = _LAST_NUMBER.search(output.rstrip())
    return int(found[1]) if found else None


def _is_masked(commands: tuple[SimpleCommand, ...], parts: tuple[NamedCommand, ...]) -> bool:
    """Whether the exit code of the line is not that of its main command."""
    main = [n for n, part in enumerate(parts) if not (part.inspects or part.trivial)]
    if not main:
        return False
    after = commands[main[-1]].after
    return after in ("|", "|&", "||") or (after in (";", "\n") and main[-1] < len(commands) - 1)
