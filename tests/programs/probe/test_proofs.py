"""Proofs are kept for the content and the version of an executable."""

import threading
import time
from pathlib import Path

import pytest

from sapwood.programs.probe import proofs as module
from sapwood.programs.probe.probe_process import ProbeResult
from sapwood.programs.probe.proofs import Executable, Proofs


class Probes:
    """Stands in for the probe, and counts."""

    def __init__(self) -> None:
        self.count = 0
        self.result = ProbeResult(True)

    def run(self, *_: object, **__: object) -> ProbeResult:
        self.count += 1
        return self.result


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> Probes:
    made = Probes()
    monkeypatch.setattr(module, "run_probe", made.run)
    return made


def installed(folder: Path, version: str = "1.0.0", more: str = "") -> Executable:
    path = folder / "claude"
    path.write_text(f"#!/bin/sh\necho '{version}'\n{more}")
    path.chmod(0o755)
    return known(folder)


def known(folder: Path) -> Executable:
    found = Proofs(folder).executable(str(folder / "claude"), {})
    assert found is not None
    return found


def test_a_program_is_probed_once(tmp_path: Path, probes: Probes) -> None:
    executable = installed(tmp_path)
    assert Proofs(tmp_path).find(executable) is None
    assert Proofs(tmp_path).prove("claude-code", executable, {}).proved
    assert Proofs(tmp_path).prove("claude-code", known(tmp_path), {}).proved
    assert probes.count == 1
    Proofs(tmp_path).prove("claude-code", executable, {}, again=True)
    assert probes.count == 2


def test_another_content_or_version_is_probed_again(tmp_path: Path, probes: Probes) -> None:
    for executable in (
        installed(tmp_path),
        installed(tmp_path, more="#"),
        installed(tmp_path, "2.0.0"),
    ):
        Proofs(tmp_path).prove("claude-code", executable, {})
    assert probes.count == 3


def test_a_program_that_only_starts_another_one_is_asked_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "version").write_text("1.0.0")
    path = tmp_path / "claude"
    path.write_text(f"#!/bin/sh\ncat {tmp_path}/version\n")
    path.chmod(0o755)
    first = known(tmp_path)
    (tmp_path / "version").write_text("1.0.1")
    monkeypatch.setattr(module, "_versions", {})  # as in another process
    second = known(tmp_path)
    assert (first.version, second.version) == ("1.0.0", "1.0.1")
    assert first.key != second.key


def test_a_program_that_is_replaced_meanwhile_has_no_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = installed(tmp_path)

    def replace(*_: object, **__: object) -> ProbeResult:
        installed(tmp_path, more="# another one")
        return ProbeResult(True)

    monkeypatch.setattr(module, "run_probe", replace)
    Proofs(tmp_path).prove("claude-code", executable, {})
    assert Proofs(tmp_path).find(executable) is None
    assert Proofs(tmp_path).find(known(tmp_path)) is None


def test_a_program_that_was_too_slow_is_probed_again_after_a_day(
    tmp_path: Path, probes: Probes, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = installed(tmp_path)
    probes.result = ProbeResult(False, "it was not done in time", passing=True)
    Proofs(tmp_path).prove("claude-code", executable, {})
    assert Proofs(tmp_path).find(executable) is not None
    later = time.time() + 86_401
    monkeypatch.setattr(module.time, "time", lambda: later)
    assert Proofs(tmp_path).find(executable) is None


def test_a_damaged_file_means_that_nothing_is_known(tmp_path: Path, probes: Probes) -> None:
    executable = installed(tmp_path)
    Proofs(tmp_path).prove("claude-code", executable, {})
    (tmp_path / "programs" / "proofs.json").write_text("{")
    assert Proofs(tmp_path).find(known(tmp_path)) is None


def test_a_stopped_probe_is_not_kept(tmp_path: Path, probes: Probes) -> None:
    stop = threading.Event()
    stop.set()
    executable = installed(tmp_path)
    Proofs(tmp_path).prove("claude-code", executable, {}, stop=stop)
    assert Proofs(tmp_path).find(executable) is None
