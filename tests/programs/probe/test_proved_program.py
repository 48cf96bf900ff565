"""What a provider asks about its program."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.probe import proofs
from sapwood.programs.probe.probe_process import ProbeResult
from sapwood.programs.probe.proved_program import ProvedProgram


def proved_program(folder: Path) -> ProvedProgram:
    path = folder / "claude"
    path.write_text("#!/bin/sh\necho '1.0.0 (Claude Code)'\n")
    path.chmod(0o755)
    return ProvedProgram(
        PROGRAM, folder / "data", lambda: str(path), lambda: os.environ, lambda _: True
    )


def test_a_program_is_unknown_until_it_was_probed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> ProbeResult:
        return ProbeResult(False, "it is odd")

    monkeypatch.setattr(proofs, "run_probe", fail)
    program = proved_program(tmp_path)
    assert program.require().in_place is None
    program.prove()
    found = program.require()
    assert found.in_place is False
    assert found.reason == (
        "The sessions of Claude Code 1.0.0 are not changed in place, because in a test session it "
        "is odd; please report this with the output of `sapwood programs`."
    )


async def test_a_probe_in_the_background_ends_when_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = threading.Event()

    def wait(*_: object, stop: threading.Event, **__: object) -> ProbeResult:
        running.set()
        return ProbeResult(stop.wait(20))

    monkeypatch.setattr(proofs, "run_probe", wait)
    program = proved_program(tmp_path)
    program.prove_in_background()
    assert await asyncio.to_thread(running.wait, 20)
    async with asyncio.timeout(10):
        await program.stop()
    assert program.require().in_place is None


def test_where_nothing_can_be_stored_sessions_are_not_changed_in_place(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, not a folder")
    found = proved_program(tmp_path).prove()
    assert found is not None
    assert found.in_place is False
    assert "nothing could be stored" in found.reason
