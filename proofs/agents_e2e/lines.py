"""A program that is spoken to in JSON lines, with an end to every wait."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from proofs.agents_e2e.environment import ProofError

__all__ = ["Talker"]

_SECONDS = 60.0


class Talker:
    """A running program. One that says nothing for a minute is ended."""

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
        """Lets the program end by itself, which is when it calls its last hooks."""
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
        """Says one line."""
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps(message) + "\n")
        self._program.stdin.flush()

    def hear(self, until: Callable[[dict[str, Any]], bool]) -> Iterator[dict[str, Any]]:
        """What it says, up to and with the line that was waited for."""
        assert self._program.stdout is not None
        watch = threading.Timer(_SECONDS, self._program.kill)
        watch.start()
        try:
            for line in self._program.stdout:
                told: dict[str, Any] = json.loads(line)
                yield told
                if until(told):
                    return
        finally:
            watch.cancel()
        raise ProofError(f"{self._name} ended, or said nothing for {_SECONDS:g} seconds.")
