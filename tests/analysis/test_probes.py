"""Probes: what a summary must contain, and how it is found."""

import pytest

from sapwood.analysis.ledger.entries import Failing, FileTouched, Ledger, TouchedFiles
from sapwood.analysis.probes import check_summary, probes_of


@pytest.mark.parametrize(
    ("line", "probe"),
    [
        ("cd app && npm test", "npm test"),
        ("npm test -- --watch", "npm test"),
        ("FOO=1 uv run pytest -q tests/x.py", "pytest"),
        ("cd /srv; make build", "make build"),
        ("rm", "rm"),
    ],
)
def test_a_failing_command_is_probed_by_what_it_runs(line: str, probe: str) -> None:
    assert probes_of((), Ledger(failing=(Failing(line, 1),))) == (probe,)


def test_a_file_is_probed_by_its_name() -> None:
    files = TouchedFiles(created=(FileTouched("src/a.py"),), changed=(FileTouched("lib/b.py"),))
    assert probes_of((), Ledger(files=files)) == ("a.py", "b.py")


@pytest.mark.parametrize(
    ("summary", "probe", "found"),
    [
        ("We changed data.py.", "a.py", False),
        ("We changed src/a.py.", "a.py", True),
        ("We changed `a.py`, then left.", "a.py", True),
        ("A.PY is done.", "a.py", True),
        ("npm run test fails", "npm test", False),
        ("`npm test` fails", "npm test", True),
        ("npm\ntest fails", "npm test", True),
        ("It discards it.", "disc", False),
        ("The retries are capped.", "retry", True),
        ("", "a.py", False),
    ],
)
def test_a_probe_is_found_as_whole_words(summary: str, probe: str, found: bool) -> None:
    assert (check_summary(summary, [probe]).missing == ()) is found


def test_the_score_is_the_share_that_was_found() -> None:
    checked = check_summary("a.py", ["a.py", "b.py"])
    assert (checked.score, checked.missing, checked.probes) == (0.5, ("b.py",), 2)
    assert check_summary("anything", []).score == 1
