"""The process of a probe, with programs that do something else than a real one."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from sapwood.programs.probe.probe_process import ProbeResult, run_probe

HANGS = """
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    time.sleep(60)
"""
PRINTS = 'while True:\n    print(\'{"type": "garbage" \' * 100)\n'
SAYS = "import os, sys\nsys.exit('saw ' + str(%s))\n"


def has_bubblewrap() -> bool:
    tried = ["bwrap", "--ro-bind", "/", "/", "--unshare-net", "--unshare-pid", "true"]
    return bool(shutil.which("bwrap")) and not subprocess.run(tried, capture_output=True).returncode


needs_bubblewrap = pytest.mark.skipif(
    not has_bubblewrap(), reason="bubblewrap is not installed, or the machine does not allow it"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home, in which the program is installed."""
    (tmp_path / "home" / "bin").mkdir(parents=True)
    return tmp_path / "home"


def probed(
    home: Path,
    script: str,
    *,
    seconds: float = 10.0,
    more: Mapping[str, str] | None = None,
    isolate: bool = True,
    stop: threading.Event | None = None,
) -> ProbeResult:
    path = home / "bin" / "claude"
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(0o755)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **(more or {})}
    return run_probe(
        "claude-code", str(path), "1.0.0", environ, seconds=seconds, isolate=isolate, stop=stop
    )


@pytest.mark.parametrize("script", [HANGS, PRINTS], ids=["hangs", "prints garbage"])
@pytest.mark.parametrize("isolate", [True, False])
def test_a_program_that_does_not_answer_is_ended_in_time(
    home: Path, script: str, isolate: bool
) -> None:
    before = time.monotonic()
    result = probed(home, script, seconds=1.5, isolate=isolate)
    assert not result.proved
    assert result.passing
    assert result.reason == "in a new session, it did not answer within 1.5 seconds"
    assert time.monotonic() - before < 15
    assert processes_of(home / "bin" / "claude") == []


def test_a_program_that_crashes_is_not_proved(home: Path) -> None:
    result = probed(home, "raise SystemExit('out of order')")
    assert (result.proved, result.passing) == (False, False)
    assert result.reason == "it could not run a turn (Claude Code exited: out of order)"


def test_the_last_words_of_a_program_are_waited_for_after_its_output_ended(home: Path) -> None:
    late = "import os, sys, time\nos.close(1)\ntime.sleep(0.3)\nsys.stderr.write('too late?\\n')\n"
    assert "(Claude Code exited: too late?)" in probed(home, late).reason


def test_what_a_program_prints_cannot_reach_the_terminal_as_control_characters(home: Path) -> None:
    result = probed(home, r"raise SystemExit('\x1b]0;owned\x07' + 'x' * 1000)")
    assert result.reason.isprintable()
    assert "owned" in result.reason
    assert len(result.reason) < 400


def test_no_variable_of_the_user_but_the_path_is_passed_on(home: Path) -> None:
    leaks = {"ANTHROPIC_AUTH_TOKEN": "secret", "HTTPS_PROXY": "http://x", "PYTHONPATH": "/x"}
    names = f"[name for name in {['HOME', 'PATH', *leaks]} if name in os.environ]"
    assert "saw ['HOME', 'PATH']" in probed(home, SAYS % names, more=leaks).reason


def test_the_home_of_the_program_is_a_scratch_folder_that_is_gone_afterwards(home: Path) -> None:
    result = probed(home, SAYS % "os.environ['HOME']")
    scratch = result.reason.partition("saw ")[2].rstrip(")")
    assert scratch.endswith("/home")
    assert not Path(scratch).parent.exists()


@needs_bubblewrap
def test_nothing_of_the_users_home_can_be_read_or_written(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "secret").write_text("mine")
    (home / ".netrc").write_text("mine")
    result = probed(home, SAYS % f"os.listdir({str(home / '.claude')!r})")
    assert result.isolated
    assert result.reason.endswith("saw [])")
    result = probed(home, SAYS % f"open({str(home / '.netrc')!r}).read()")
    assert "PermissionError" in result.reason
    probed(home, f"open({str(home / 'bin' / 'new')!r}, 'w')")
    assert not (home / "bin" / "new").exists()


@needs_bubblewrap
def test_an_interpreter_that_is_only_linked_into_the_path_is_found(home: Path) -> None:
    interpreter = home / "apps" / "node-22" / "bin" / "node"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f"#!{sys.executable}\nraise SystemExit('saw node')\n")
    interpreter.chmod(0o755)
    (home / "current").mkdir()
    (home / "current" / "node").symlink_to("../apps/node-22/bin/node")
    (home / "bin" / "node").symlink_to(home / "current" / "node")
    path = home / "bin" / "claude"
    path.write_text("#!/usr/bin/env node\n")
    path.chmod(0o755)
    environ = {"PATH": f"{home / 'bin'}:{os.environ['PATH']}", "HOME": str(home)}
    result = run_probe("claude-code", str(path), "1.0.0", environ, seconds=10.0)
    assert result.isolated
    assert "saw node" in result.reason


@needs_bubblewrap
def test_a_package_of_npm_has_its_other_packages(home: Path) -> None:
    packages = home / ".npm" / "lib" / "node_modules"
    script = packages / "claude" / "dist" / "cli"
    script.parent.mkdir(parents=True)
    script.write_text(
        f"#!{sys.executable}\nraise SystemExit(open({str(packages / 'note')!r}).read())"
    )
    script.chmod(0o755)
    (packages / "note").write_text("saw the others")
    (home / "bin" / "claude").symlink_to(script)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
    result = run_probe("claude-code", str(home / "bin" / "claude"), "1.0.0", environ, seconds=10.0)
    assert result.isolated
    assert "saw the others" in result.reason


@needs_bubblewrap
def test_the_network_cannot_be_reached(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        script = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)\n"
        result = probed(home, script)
    assert result.isolated
    assert "Connection refused" in result.reason


@pytest.mark.parametrize("isolate", [True, False])
def test_a_probe_can_be_stopped(home: Path, isolate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = home.parent / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    stop = threading.Event()
    path = home / "bin" / "claude"
    stopper = threading.Thread(target=stop_when_running, args=(stop, path))
    stopper.start()
    before = time.monotonic()
    assert not probed(home, HANGS, seconds=60.0, isolate=isolate, stop=stop).proved
    stopper.join()
    assert time.monotonic() - before < 30
    assert processes_of(path) == []
    assert list(scratch.iterdir()) == []


def stop_when_running(stop: threading.Event, path: Path) -> None:
    until = time.monotonic() + 20
    while not processes_of(path) and time.monotonic() < until:
        time.sleep(0.02)
    stop.set()


def processes_of(path: Path) -> list[str]:
    """The processes that run a script."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(path).encode() in words:
            found.append(folder.name)
    return found
