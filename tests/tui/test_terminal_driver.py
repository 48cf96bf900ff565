"""A screen ends when its terminal closes, and reads it once after the program was stopped."""

import errno
import fcntl
import io
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from sapwood.tui.app import TerminalDriver
from scripted_model import ScriptedModel

FACES = pytest.mark.parametrize("face", [(), ("--inline",)], ids=["full", "inline"])


@FACES
def test_the_program_ends_with_its_terminal(face: tuple[str, ...], tmp_path: Path) -> None:
    with ScriptedModel(delay=0.01) as server, _program(face, tmp_path, server) as (process, ours):
        server.replies(["word " * 4_000])
        os.write(ours, b"Go.\r")
        _wait_for(ours, b"word")
        os.close(ours)
        process.wait(90)


@pytest.mark.night
@FACES
def test_keys_stay_in_order_after_the_program_was_stopped(
    face: tuple[str, ...], tmp_path: Path
) -> None:
    prompt = " ".join(f"word{number}" for number in range(200))
    with ScriptedModel() as server, _program(face, tmp_path, server) as (process, ours):
        server.replies(["understood"])
        for _ in range(5):
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.2)
        for word in prompt.split(" "):
            os.write(ours, word.encode() + b" ")
            time.sleep(0.005)
        os.write(ours, b"\r")
        _wait_for(ours, b"understood")
        assert prompt in str(server.requests[0].body)


@contextmanager
def _program(
    face: tuple[str, ...], home: Path, server: ScriptedModel
) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """The program in a terminal, when its composer is there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sapwood.cli", *face],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=home,
        env=_environment(home, server.anthropic_url),
        preexec_fn=_take_terminal,
    )
    os.close(theirs)
    try:
        _wait_for(ours, "╭".encode())
        yield process, ours
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _take_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _environment(home: Path, url: str) -> dict[str, str]:
    (home / "config" / "sapwood").mkdir(parents=True)
    config = f'model = "claude-sonnet-5-5"\n[base_urls]\nanthropic = "{url}"\n'
    (home / "config" / "sapwood" / "config.toml").write_text(config)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "ANTHROPIC_API_KEY": "any",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
        "LINES": "30",
    }


def _wait_for(terminal: int, words: bytes) -> None:
    shown, end = b"", time.monotonic() + 120
    while words not in shown:
        assert time.monotonic() < end, shown[-2_000:]
        if select.select([terminal], [], [], 0.5)[0]:
            shown += os.read(terminal, 65_536)


class _ClosedTerminal(io.StringIO):
    """Fails as a terminal that has gone."""

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.timeout(60)
def test_more_writes_than_the_queue_holds_do_not_wait_for_a_closed_terminal() -> None:
    driver = TerminalDriver.__new__(TerminalDriver)
    thread = WriterThread(_ClosedTerminal())
    driver._writer_thread = thread  # pyright: ignore[reportPrivateUsage]
    thread.start()
    for _ in range(2 * MAX_QUEUED_WRITES):
        driver.write("text")
    driver.close()
    assert not thread.is_alive()
