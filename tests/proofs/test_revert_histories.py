"""A small run of the proof of reverts, and tests that it notices what it must."""

import os
from pathlib import Path

import pytest

from proofs.revert.checks import Findings, check_revert, check_same
from proofs.revert.history import play
from proofs.revert.snapshot import Snapshot, take
from sapwood.workspace.checkpoints import checkpoint_restore
from tests.workspace.checkpoints.repositories import repository


@pytest.mark.night
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_in_a_history(seed: int) -> None:
    findings = play(seed)
    assert findings.problems == []
    assert findings.turns > 1


def moment(folder: Path, *, files: dict[str, str], mode: int = 0o644) -> Snapshot:
    """A workspace with these files."""
    for path in folder.iterdir():
        if path.name != ".git":
            path.unlink()
    for name, content in files.items():
        (folder / name).write_text(content)
        (folder / name).chmod(mode)
    return take(folder)


def test_a_lost_file_and_a_changed_mode_are_noticed(tmp_path: Path) -> None:
    repository(tmp_path)
    then = moment(tmp_path, files={"a": "1", "b": "1"})
    now = moment(tmp_path, files={"a": "2", "b": "1"})
    findings = Findings([], [], [], [])
    check_revert(findings, "", then, now, then)
    check_same(findings, "", now, now)
    assert findings.problems == []
    check_revert(findings, "", then, now, now)
    check_same(findings, "", then, moment(tmp_path, files={"a": "1"}))
    assert len(findings.lost) == 2
    check_same(findings, "", then, moment(tmp_path, files={"a": "1", "b": "1"}, mode=0o600))
    assert len(findings.modes) == 2


def test_a_revert_that_forgets_modes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object) -> None:
        """Changes nothing."""

    monkeypatch.setattr(checkpoint_restore, "set_permissions", nothing)
    os.umask(os.umask(0o022))
    assert any(play(seed).modes for seed in range(20))
