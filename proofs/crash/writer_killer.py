"""Starts writers, kills them and checks the log."""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from proofs.crash.check import Findings, check
from sapwood.core.ids import Space

_BEFORE_READY = 0.1
"""The share of writers that are killed while they start."""

_MAX_SECONDS = 0.3
"""The longest time, in seconds, before a writer is killed."""


class WriterKiller:
    """Runs one writer after the other on one database, with one diary."""

    def __init__(self, address: str, diary: Path, chance: random.Random) -> None:
        self._address = address
        self._diary = diary
        self._chance = chance
        self._space = Space(f"crash-{chance.getrandbits(64):016x}")
        self._read = 0
        self.kills = 0
        self.given: set[str] = set()
        self.acknowledged: set[str] = set()

    def run(self, kills: int, every: int, report: Callable[[str], None]) -> Findings:
        """Kills this many writers; checks the log after every `every` kills and at the end."""
        findings = Findings()
        while self.kills < kills and not findings:
            self._run_writer()
            if self.kills % every == 0 or self.kills == kills:
                findings = asyncio.run(
                    check(self._address, self._space, self.given, self.acknowledged)
                )
                report(f"{self.kills} kills, {len(self.acknowledged):,} acknowledged commits")
        return findings

    def _run_writer(self) -> None:
        writer = subprocess.Popen(
            [
                sys.executable,
                *("-m", "proofs.crash.writer"),
                *(self._address, self._space, str(self.kills), str(self._diary)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with writer:
            assert writer.stdin
            assert writer.stdout
            writer.stdin.write("\n".join(sorted(self.given - self.acknowledged)).encode())
            writer.stdin.close()
            if self._chance.random() < _BEFORE_READY:
                time.sleep(self._chance.uniform(0, _MAX_SECONDS))
            elif not writer.stdout.readline():
                raise RuntimeError(f"writer {self.kills} exited before it was killed")
            else:
                time.sleep(self._chance.uniform(0, _MAX_SECONDS))
            writer.kill()
        self.kills += 1
        self._read_diary()

    def _read_diary(self) -> None:
        if not self._diary.exists():
            return
        with self._diary.open("rb") as diary:
            diary.seek(self._read)
            for line in diary:
                if not line.endswith(b"\n"):
                    break  # cut short by the kill: the command was not acknowledged
                self._read += len(line)
                command = line[1:-1].decode()
                (self.given if line.startswith(b"+") else self.acknowledged).add(command)
