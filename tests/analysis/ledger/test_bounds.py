"""A ledger takes linear time, whatever a user pasted or a program printed."""

import time

import pytest

from sapwood.analysis.ledger.ledger_builder import ledger_of
from tests.analysis.sessions import ToolRun, asked, session

ENOUGH = 5.0
"""Seconds of processor time; a quadratic rule would take far longer."""


@pytest.mark.parametrize(
    "output", ["FAIL \n" * 20_000 + " \n" * 60_000, "1 passed\n" * 30_000, "\n\n\t" * 60_000]
)
def test_a_huge_output_is_read_once(output: str) -> None:
    started = time.process_time()
    ledger_of(
        session(asked("Test.", ToolRun("Bash", '{"command": "npx jest"}', output, error=True)))
    )
    assert time.process_time() - started < ENOUGH


@pytest.mark.parametrize("letter", ["a", "a/", "a.", "a_", "::a", "a:", "(a", "aB3/"])
@pytest.mark.parametrize("size", [60_000, 1_000_000])
def test_a_failing_test_with_one_long_word_is_read_once(letter: str, size: int) -> None:
    word = letter * (size // len(letter))
    output = f"FAILED tests/test_a.py::test_x - AssertionError: {word}\n{word}\n1 failed in 0.1s"
    started = time.process_time()
    ledger_of(
        session(asked("Test.", ToolRun("Bash", '{"command": "pytest -q"}', output, error=True)))
    )
    assert time.process_time() - started < ENOUGH


@pytest.mark.parametrize(
    "said",
    [
        "Run " + " " * 90_000,
        "a " + "\t" * 90_000,
        "let's use not " * 20_000,
        "<a>" * 60_000,
        "`" * 90_000,
        "no, " * 60_000,
        "- \n" * 60_000,
    ],
)
def test_huge_words_are_read_once(said: str) -> None:
    started = time.process_time()
    ledger_of(session(asked(said, said)))
    assert time.process_time() - started < ENOUGH
