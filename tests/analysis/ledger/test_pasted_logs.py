"""Ten pasted logs of 50 to 5,000 lines give hardly any decision that nobody made."""

import random
from collections.abc import Callable

from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.core.turn import Turn
from tests.analysis.sessions import asked, session

SIZES = (50, 80, 120, 200, 400, 700, 1_000, 2_000, 3_500, 5_000)
MAX_MADE_UP = 3
_PHRASES = (
    "use the cached image instead",
    "we decided to keep the old endpoint",
    "let's switch to the mirror",
    "never retry more than 2 times",
    "don't use eval here",
    "falling back to default, keep 4 workers",
    "should be 30 seconds",
    "no new dependencies allowed",
    "option B selected",
)


def _build(lines: random.Random, number: int) -> str:
    forms = (
        f"   Compiling crate-{number} v0.{number}.2 (/srv/runner/app/crates/c{number})",
        f"warning: unused variable: `x{number}`; {lines.choice(_PHRASES)}",
        f"  --> src/file_{number}.rs:{number}:9",
        f"note: {lines.choice(_PHRASES)}",
        f"[{number}/5000] Building CXX object src/{number}.o",
    )
    return lines.choice(forms)


def _tests(lines: random.Random, number: int) -> str:
    forms = (
        f"tests/test_{number}.py::test_{lines.choice(('a', 'b'))} PASSED   [ {number % 100}%]",
        f"FAILED tests/test_{number}.py::test_x - AssertionError: {lines.choice(_PHRASES)}",
        f"E       assert {number} == {number + 1}",
        "=" * 30 + f" {number} failed " + "=" * 30,
    )
    return lines.choice(forms)


def _trace(lines: random.Random, number: int) -> str:
    forms = (
        f'  File "/srv/app/m{number}.py", line {number}, in run',
        f"    at com.example.Job{number}.run(Job.java:{number})",
        f"Caused by: java.lang.IllegalStateException: {lines.choice(_PHRASES)}",
        f"RuntimeError: {lines.choice(_PHRASES)}",
        f"    raise ValueError('{lines.choice(_PHRASES)}')",
    )
    return lines.choice(forms)


def _table(lines: random.Random, number: int) -> str:
    return f"{number},{lines.randint(1, 99)},job-{number},{lines.choice(_PHRASES)},ok"


def _chat(lines: random.Random, number: int) -> str:
    name = lines.choice(("maren", "jo", "Bea K"))
    return f"{name}  {number % 24:02}:{number % 60:02}  {lines.choice(_PHRASES)}"


def _service(lines: random.Random, number: int) -> str:
    level = lines.choice(("INFO", "WARN", "ERROR"))
    return f"2026-03-02T10:{number % 60:02}:07Z {level} worker {number}: {lines.choice(_PHRASES)}"


KINDS: tuple[Callable[[random.Random, int], str], ...] = (
    _build,
    _tests,
    _trace,
    _table,
    _chat,
    _service,
)


def test_pasted_logs_decide_nothing() -> None:
    lines = random.Random(13)
    turns: list[Turn] = []
    for place, size in enumerate(SIZES):
        make = KINDS[place % len(KINDS)]
        log = "\n".join(make(lines, number) for number in range(size))
        before, after = ("this is what I see:\n\n", "\n\nwhat is wrong there?")
        prompt = f"{before}{log}{after}" if place % 2 else f"got this again\n{log}"
        turns.append(asked(prompt, "The cache is stale. Should I clear it or rebuild the image?"))
    turns.append(asked("clear it", "Done."))
    decided = [decision.text for decision in ledger_of(session(*turns)).decisions]
    assert "clear it" in decided
    made_up = [text for text in decided if text != "clear it"]
    assert len(made_up) <= MAX_MADE_UP, made_up
