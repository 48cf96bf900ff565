"""How many megabytes of transcripts are read, masked and committed in a second.

Each transcript is read in three ways in one run: rows become turns; the same with the secrets in
tool results masked; and all of it recorded in an SQLite log, as `sapwood import` does. Rates are
per second of CPU time, with the writer's thread, because other programs on the machine must not
change the figure. The rate by the clock is printed too. The slower of the two transcript formats
counts.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench import QUICK_CPU_SLACK
from bench.transcripts import write_claude, write_codex
from sapwood.app.connection import connect
from sapwood.imports.importer import Importer
from sapwood.programs.claude_code.reader import ClaudeReader
from sapwood.programs.codex.reader import CodexReader
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.row_file import RowFile
from sapwood.programs.transcripts.transcript_events import Mask, unmasked
from sapwood.redaction import mask_secrets

LIMIT = 16.0
"""Was 40 while only results were masked, in a tenth of the forms. Now every text of a turn is
masked, once; that takes half of the time. 23 to 27 MB/s were measured beside other programs."""
_ROUNDS = 3


class Rates(Struct):
    """Megabytes per second of CPU time, and by the clock for the whole import."""

    read: float
    masked: float
    imported: float
    clocked: float

    @property
    def shares(self) -> str:
        """The parts of the time of an import."""
        whole = 1 / self.imported
        reading = (1 / self.read) / whole
        masking = (1 / self.masked - 1 / self.read) / whole
        return (
            f"{reading:.0%} reading rows, {masking:.0%} masking secrets, "
            f"{1 - reading - masking:.0%} deciding, encoding and storing"
        )


def rate(size: int, work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Megabytes per second of CPU time and by the clock: the best of some rounds."""
    cpu: list[float] = []
    clock: list[float] = []
    for _ in range(rounds):
        started, used = time.perf_counter(), time.process_time()
        work()
        cpu.append(time.process_time() - used)
        clock.append(time.perf_counter() - started)
    return size / min(cpu) / 1e6, size / min(clock) / 1e6


def read(path: Path, reader: TranscriptReader) -> None:
    """Reads all rows into turns."""
    for row, place in RowFile(path).read():
        reader.feed(row, place)
    reader.finish()


async def bring(path: Path, database: Path, turns: int) -> None:
    """Imports a transcript into a new database."""
    connection = await connect(database)
    importer = Importer(connection)
    done = await importer.bring(path)
    await importer.close()
    await connection.close()
    if done.turns != turns:
        raise RuntimeError(f"{done.turns} turns were imported, not {turns}")


def measure(
    path: Path, turns: int, reader: Callable[[Mask], TranscriptReader], rounds: int
) -> Rates:
    """The rates of one transcript."""
    size = path.stat().st_size
    databases = iter(path.with_suffix(f".{number}.db") for number in range(rounds))
    plain, _ = rate(size, lambda: read(path, reader(unmasked)), rounds)
    masked, _ = rate(size, lambda: read(path, reader(mask_secrets)), rounds)
    work = lambda: asyncio.run(bring(path, next(databases), turns))  # noqa: E731
    imported, clocked = rate(size, work, rounds)
    return Rates(plain, masked, imported, clocked)


def main(argv: list[str]) -> int:
    """Prints the rates; returns 1 if the slower one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m bench import", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, with slack, for every check")
    parser.add_argument("--megabytes", type=int, default=40)
    args = parser.parse_args(argv)
    size = (5 if args.quick else args.megabytes) * 1_000_000
    rounds = 2 if args.quick else _ROUNDS
    slowest = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        claude = Path(folder) / "0a1b2c3d.jsonl"
        codex = Path(folder) / "rollout-2026-11-14T12-00-00-0a1b2c3d.jsonl"
        for name, path, turns, reader in (
            ("Claude Code", claude, write_claude(claude, size), _claude),
            ("Codex", codex, write_codex(codex, size), _codex),
        ):
            rates = measure(path, turns, reader, rounds)
            slowest = min(slowest, rates.imported)
            print(f"{name}, {path.stat().st_size / 1e6:.0f} MB, {turns} turns", flush=True)
            print(f"  {rates.read:.0f} MB/s read, {rates.masked:.0f} MB/s with secrets masked")
            print(f"  {rates.imported:.0f} MB/s imported ({rates.clocked:.0f} by the clock)")
            print(f"  {rates.shares}")
    limit = LIMIT / QUICK_CPU_SLACK if args.quick else LIMIT
    print(f"import: {slowest:.0f} MB/s of CPU (at least {limit:.0f})")
    return int(slowest < limit)


def _claude(mask: Mask) -> TranscriptReader:
    return ClaudeReader(mask=mask)


def _codex(mask: Mask) -> TranscriptReader:
    return CodexReader(mask=mask)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
