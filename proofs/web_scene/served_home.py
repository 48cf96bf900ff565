"""`sapwood serve` in the home of a proof."""

import re
import subprocess
import sys
from types import TracebackType

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.home import Home


class ServedHome:
    """A server that runs agents, with the programs of its home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._process: subprocess.Popen[str] | None = None
        self.address = ""
        """Where it serves."""
        self.entrance = ""
        """The address with the token that works once."""

    def __enter__(self) -> "ServedHome":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sapwood.cli", "serve", "--port", "0"],
            cwd=self._home.project,
            env=self._home.environ,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline() + self._process.stderr.readline()
        found = re.match(r"Serving on (\S+)\. .*\s.*?(http\S+token=\S+)", line)
        if found is None:
            self._process.terminate()
            raise ProofError(f"`sapwood serve` did not start: {line}{self._process.stderr.read()}")
        self.address, self.entrance = found[1], found[2]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            told = self._process.communicate(timeout=60)[1]
            if kind is not None:
                print(told[-2_000:], file=sys.stderr)
