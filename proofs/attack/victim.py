"""The built program in a home of its own, with the scripted model: what an attack is aimed at."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from scripted_model import ScriptedModel

NOBODY = 65_534
"""The user id of somebody else on the same machine."""

_UNWANTED = (
    *("ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "SAPWOOD_", "CLAUDE", "CODEX", "GIT_"),
    "PYTHONDONTWRITEBYTECODE",  # most of the time would be spent on compiling
)
_MODEL = "claude-sonnet-5-5"


@dataclass(frozen=True)
class Ended:
    """A program that has ended."""

    code: int
    out: str
    err: str
    cpu: float
    """Seconds of processor time that it took, with its children."""

    @property
    def text(self) -> str:
        """All that it printed."""
        return self.out + self.err


class Victim:
    """A person's home, a project in it, and the program as the wheel holds it."""

    def __init__(self, folder: Path, wheel: Path, server: ScriptedModel) -> None:
        self.home = folder
        self.project = folder / "project"
        self.server = server
        self._wheel = wheel
        self.project.mkdir(parents=True)
        self.configure()

    @property
    def database(self) -> Path:
        return self.home / "data" / "sapwood" / "sapwood.db"

    @property
    def config_file(self) -> Path:
        return self.home / "config" / "sapwood" / "config.toml"

    def configure(self, more: str = "") -> None:
        """Writes the configuration: the scripted model, and more lines before its table."""
        self.config_file.parent.mkdir(parents=True, exist_ok=True)
        url = self.server.anthropic_url
        text = f'model = "{_MODEL}"\n{more}\n[base_urls]\nanthropic = "{url}"\n'
        self.config_file.write_text(text, encoding="utf-8")
        self.config_file.chmod(0o600)

    def env(self, **more: str) -> dict[str, str]:
        """The environment of the person."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_UNWANTED)}
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "PYTHONPATH": str(self._wheel),
            "ANTHROPIC_API_KEY": "a-key-for-attacks",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **more,
        }

    def command(self, *args: str, python: str = sys.executable) -> list[str]:
        """The command line of the program."""
        return [python, "-P", "-m", "sapwood.cli", *args]

    def run(
        self,
        *args: str,
        stdin: str = "",
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        limit: float = 180.0,
    ) -> Ended:
        """Runs the program to its end."""
        return self.call(
            self.command(*args), stdin=stdin, folder=folder, env=env, limit=limit, user=None
        )

    def call(
        self,
        command: Sequence[str],
        *,
        stdin: str = "",
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        limit: float = 180.0,
        user: int | None = None,
    ) -> Ended:
        """Runs any command to its end, as the person or as another user."""
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write(stdin.encode("utf-8", "surrogatepass"))
            given.seek(0)
            process = subprocess.Popen(
                command,
                stdin=given,
                stdout=out,
                stderr=err,
                cwd=folder or self.project,
                env=self.env(**(env or {})),
                user=user,
                group=user,
                extra_groups=None if user is None else (),
            )
            code, spent = _wait(process, limit)
            out.seek(0)
            err.seek(0)
            printed = out.read().decode("utf-8", "replace")
            return Ended(code, printed, err.read().decode("utf-8", "replace"), spent)

    def ask(self, prompt: str, *args: str, **more: str) -> Ended:
        """Sends a prompt to a new agent by `sapwood run`."""
        return self.run("run", "-p", prompt, *args, env=more)

    def start(self, *args: str, folder: Path | None = None) -> "subprocess.Popen[bytes]":
        """Starts the program and returns at once."""
        return subprocess.Popen(
            self.command(*args),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder or self.project,
            env=self.env(),
        )

    def on_terminal(self, *args: str, limit: float = 120.0) -> bytes:
        """Every byte that the program writes to a terminal of its own."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            self.command(*args),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self.project,
            env=self.env(),
            start_new_session=True,
        )
        os.close(theirs)
        end, written = time.monotonic() + limit, b""
        try:
            while time.monotonic() < end:
                if not select.select([ours], [], [], 0.2)[0]:
                    if process.poll() is not None:
                        break
                    continue
                try:
                    piece = os.read(ours, 65_536)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                written += piece
        finally:
            os.close(ours)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
        return written

    def stored(self) -> bytes:
        """Every byte of the database and of the files beside it."""
        files = sorted(self.database.parent.glob("*"))
        return b"".join(file.read_bytes() for file in files if file.is_file())

    def agents(self) -> list[dict[str, object]]:
        """The agents, as the program lists them."""
        listed = self.run("agents", "--json").out
        return [json.loads(line) for line in listed.splitlines() if line.strip()]

    def requests(self) -> str:
        """Everything that the model was sent, as JSON."""
        return json.dumps([request.body for request in self.server.requests], ensure_ascii=False)


def script(*calls: tuple[str, Mapping[str, object]]) -> str:
    """A prompt that makes the scripted model call these tools, one after the other."""
    steps = [f"[[tool: {name} {json.dumps(arguments)}]]" for name, arguments in calls]
    return " ".join(["Go.", *steps, "[[say: finished]]"])


def _wait(process: "subprocess.Popen[bytes]", limit: float) -> tuple[int, float]:
    """Waits for a process; returns its code and the processor time it took with its children."""
    end = time.monotonic() + limit
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() > end:
            process.kill()
            process.wait()
            raise subprocess.TimeoutExpired(process.args, limit)
        time.sleep(0.02)
