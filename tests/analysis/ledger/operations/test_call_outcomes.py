"""How a call ended, in the format of each program."""

import json

import pytest

from sapwood.analysis.ledger.operations.call_outcomes import call_outcome
from sapwood.core.turn import Result


@pytest.mark.parametrize(
    ("content", "error", "outcome", "code", "output"),
    [
        ("Exit code 1\nboom", True, "failed", 1, "boom"),
        ("two", False, "ok", 0, "two"),
        ("Command timed out after 2m 0.0s", True, "failed", None, None),
        (
            "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nbad\n",
            False,
            "failed",
            2,
            "bad\n",
        ),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nfine", False, "ok", 0, "fine"),
        (json.dumps({"output": "bad", "metadata": {"exit_code": 7}}), False, "failed", 7, "bad"),
        (json.dumps({"output": "good", "metadata": {"exit_code": 0}}), False, "ok", 0, "good"),
        ("Output: bad\nExit Code: 3\nProcess Group PGID: 12", False, "failed", 3, None),
        ("Output: good\nProcess Group PGID: 12", False, "ok", 0, None),
        ("bad\n[exit status 4]", True, "failed", 4, None),
        ("[exit status 0, no output]", False, "ok", 0, None),
        ("[stopped after 5 seconds; a longer timeout can be given]", True, "failed", None, None),
        ("<status>completed</status>\n<exit_code>1</exit_code>", False, "failed", 1, None),
    ],
)
def test_how_it_ended(
    content: str, error: bool, outcome: str, code: int | None, output: str | None
) -> None:
    ended = call_outcome(Result(1, "c", content, error))
    assert (ended.status, ended.exit_code) == (outcome, code)
    assert output is None or ended.output == output


@pytest.mark.parametrize(
    "content",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "[Request interrupted by user for tool use]",
        "shell did not run. The user said no.",
        "exec command rejected by user",
    ],
)
def test_a_refused_call_did_not_run(content: str) -> None:
    assert call_outcome(Result(1, "c", content, error=True)).refused


@pytest.mark.parametrize(
    ("content", "handle"),
    [
        ("Command running in background with ID: bash_7", "bash_7"),
        ("Chunk ID: 1\nProcess running with session ID 42\nOutput:\n…", "42"),
    ],
)
def test_a_command_in_the_background_has_not_ended(content: str, handle: str) -> None:
    ended = call_outcome(Result(1, "c", content))
    assert (ended.status, ended.handle) == ("unknown", handle)


def test_the_outcome_is_unknown_without_a_result() -> None:
    assert call_outcome(None).status == "unknown"
    assert (
        call_outcome(Result(1, "c", "[the transcript has no result]", error=True)).status
        == "unknown"
    )


def test_an_exit_code_inside_the_output_is_ignored() -> None:
    assert call_outcome(Result(1, "c", "log:\nline\nExit code 1 was seen\n")).status == "ok"
