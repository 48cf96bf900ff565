"""`sapwood serve` in a process and a home of its own, for the benchmarks of the server."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from sapwood.config.server_tokens import TokenStore


class ServedProcess:
    """A server over a database, by default in its folder. It runs no agents.

    It can be started again. `options` are given to `sapwood serve`.
    """

    def __init__(
        self, folder: Path, database: str | Path = "", options: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self.database = database or folder / "sapwood.db"
        self.options = tuple(options)
        self.port = 0
        self._environ = {
            **{name: value for name, value in os.environ.items() if name[:8] != "SAPWOOD_"},
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The number of the running process."""
        assert self._process is not None
        return self._process.pid

    def processor_seconds(self) -> float:
        """The processor time that the running server has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def token(self) -> str:
        """A token for everything."""
        if str(self.database).startswith("postgresql:"):
            command = [sys.executable, "-m", "sapwood.cli", "token", "new", "bench"]
            scopes = [f"--scope={each}" for each in ("read", "write", "approve")]
            done = subprocess.run(
                [*command, *scopes, "-d", str(self.database)],
                env=self._environ,
                capture_output=True,
                text=True,
                check=True,
            )
            return done.stdout.strip()
        store = TokenStore(self.folder / "data/sapwood/server-tokens.json")
        return store.create("bench", "local", ("read", "write", "approve"))[0]

    def start(self) -> None:
        """Starts the server and waits for its address."""
        command = [sys.executable, "-m", "sapwood.cli", "serve", "--no-agents"]
        self._process = subprocess.Popen(
            [*command, "--port", str(self.port), "-d", str(self.database), *self.options],
            cwd=self.folder,
            env=self._environ,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        found = re.match(r"Serving on http://127\.0\.0\.1:(\d+)\. ", line)
        assert found, line
        self.port = int(found[1])

    def stop(self) -> None:
        """Stops the server."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            assert self._process.stderr is not None
            self._process.stderr.close()
            self._process = None

    def __enter__(self) -> "ServedProcess":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
