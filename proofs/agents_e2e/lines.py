"""A program that reads and writes JSON lines, with a time limit for every wait."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from proofs.agents_e2e.environment import ProofError

_SECONDS = 60.0


class Talker:
    """A running program. It is killed if it writes nothing for a minute."""

    def __init__(self, command: list[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._name = command[0]
        self._program = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Waits for the program to exit, because it calls its last hooks then."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        try:
            self._program.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        self._program.stdout.close()

    def send(self, message: Mapping[str, object]) -> None:
        """Sends one line."""
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps(message) + "\n")
        self._program.stdin.flush()

    def read_until(self, until: Callable[[dict[str, Any]], bool]) -> Iterator[dict[str, Any]]:
        """Yields the lines of the program, up to and including the one that `until` accepts."""
        assert self._program.stdout is not None
        watch = threading.Timer(_SECONDS, self._program.kill)
        watch.start()
        try:
            for line in self._program.stdout:
                message: dict[str, Any] = json.loads(line)
                yield message
                if until(message):
                    return
        finally:
            watch.cancel()
        raise ProofError(f"{self._name} exited, or wrote nothing for {_SECONDS:g} seconds.")
