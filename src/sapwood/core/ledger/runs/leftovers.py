"""What is left failing: commands that failed and were not seen to succeed later.

The newest run that tells of a thing speaks for it. For tests that is decided test by test where
their names are known: a whole run speaks for all of them, a run of some files for those in them.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, structs

from sapwood.core.ledger.entries import Failing, Outcome
from sapwood.core.ledger.runs.naming import Named
from sapwood.core.ledger.runs.suites import Suite

__all__ = ["Attempt", "Leftovers", "targets_of"]

_WHOLE = frozenset({".", "./...", "...", "all"})
_FILTERS = frozenset("-k -t -g -m -run --run --grep --filter --tests --testNamePattern".split())
_VALUED = frozenset("-n -p -c -o -W -j -C --tb --cov --project --config --reporter".split())
# Patterns are compiled when something fails.
_FAILED_FILE = r"(?m)^[ \t]*FAIL[ \t]+(\S+)"
_MISTAKEN = (
    r"(?mi)command not found|: not found$|Missing script|unrecognized arguments?|No such option"
    r"|unknown (?:option|command|flag|argument)|can't open file|is not recognized|invalid option"
    r"|Usage: |Could not find (?:a )?(?:task|script)|usage: \S+ \["
)
_TELLING = (
    r"(?i)^E\s{2,}\S|error(?:\[\w+\])?:|\w*(?:Error|Exception)\b|^fatal:|panicked at|FAILED|ERR!"
    r"|denied|refused|not found|cannot |timed out"
)
_LONGEST = 200


class Attempt(Struct, frozen=True):
    """One run of a command line, as far as it matters here.

    `done` are the names of the parts that succeeded if the line did.
    """

    command: str
    turn: int
    outcome: Outcome
    exit_code: int | None
    output: str
    parts: tuple[Named, ...]
    done: tuple[str, ...] = ()
    piped_into: bool = False
    runner: str = ""
    suite: Suite = Suite()
    targets: tuple[str, ...] = ()


class _Left(Struct, frozen=True):
    """A failure that nothing has settled yet."""

    name: str
    failing: Failing
    targets: tuple[str, ...] = ()
    mistaken: bool = False


class Leftovers:
    """Takes the runs in their order and tells what they left."""

    def __init__(self) -> None:
        self._left: list[_Left] = []

    def enter(self, run: Attempt) -> None:
        """One more run."""
        if run.outcome == "unknown":
            return
        if run.runner:
            self._left = [e for each in self._left if (e := _after_tests(each, run)) is not None]
        main = _main(run)
        at_work = [part for part in run.parts if not (part.looks or part.trivial)]
        if run.outcome == "ok":
            self._left = [
                e for e in self._left if e.name not in run.done and not (e.mistaken and at_work)
            ]
        elif run.runner:
            self._left.append(_left(_tests_by(run.runner), run))
        elif main:
            self._left = [each for each in self._left if each.name != main]
            self._left.append(_left(main, run))

    def failing(self) -> tuple[Failing, ...]:
        """What is left, oldest first."""
        return tuple(each.failing for each in self._left)


def _tests_by(runner: str) -> str:
    return f"tests by {runner}"


def _main(run: Attempt) -> str:
    """The part that probably failed; none if the line only looked at something."""
    if run.piped_into and run.parts[-1].looks and run.exit_code:
        return ""  # a filter that found nothing
    at_work = [part.name for part in run.parts if not (part.looks or part.trivial)]
    return at_work[-1] if at_work else ""


def _left(name: str, run: Attempt) -> _Left:
    files = re.findall(_FAILED_FILE, run.output) if run.runner else []
    failing = Failing(
        run.command, run.turn, run.exit_code, run.suite.names, _telling_line(run.output)
    )
    mistaken = run.exit_code == 127 or bool(re.search(_MISTAKEN, run.output[:2_000]))
    return _Left(name, failing, (*run.targets, *files), mistaken and not run.suite.names)


def _telling_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    found = next((line for line in lines if re.search(_TELLING, line)), lines[-1] if lines else "")
    return found[:_LONGEST]


def _after_tests(left: _Left, run: Attempt) -> _Left | None:
    """What is left of a failure after a run of tests."""
    if left.name != _tests_by(run.runner):
        return left
    targets = [target for target in run.targets if target not in _WHOLE]
    if not targets:
        return None
    tests = [test for test in left.failing.tests if not _meets(test, targets)]
    same_place = any(_meets(place, targets) for place in left.targets)
    if len(tests) < len(left.failing.tests):
        settled = not tests
    else:
        settled = same_place or not (left.failing.tests or left.targets)
    if settled:
        return None
    return structs.replace(left, failing=structs.replace(left.failing, tests=tuple(tests)))


def _meets(place: str, targets: Sequence[str]) -> bool:
    """Whether a test or a path lies within what was run."""
    bare = place.removeprefix("./")
    for target in targets:
        wanted = target.removeprefix("./").rstrip("/").removesuffix("/...")
        if wanted and (wanted in bare or (bare.split("::")[0] in wanted and "/" in bare)):
            return True
    return False


def targets_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """What a test command was narrowed to: paths, names of tests, words of a filter."""
    found: list[str] = []
    before = ""
    for argument in arguments:
        option, before = before, ""
        if option in _FILTERS:
            found += re.findall(r"\w{3,}", argument)
        elif option in _VALUED:
            continue
        elif argument.startswith("-"):
            name, _, value = argument.partition("=")
            before = "" if value else name
            found += re.findall(r"\w{3,}", value) if name in _FILTERS else []
        elif re.search(r"[\w.]", argument) and not argument.isdigit():
            found.append(argument)
    return tuple(found)
