"""Reads randomly damaged transcripts: no crash, no sound row lost, only the log is written.

`python -m proofs.fuzz_sources [--cases N]` damages sound transcripts of every program in up to four
ways each: cut off, rows lost, repeated, reordered and mixed with those of another session, bytes
flipped, other encodings, huge and deeply nested rows, values of other types, hostile ids and paths.
Each is read as a whole and from its end. Some are also written to a file, imported twice and
archived. Every word of an undamaged row must be in the result. The tests run fewer of these cases.
"""

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path

from proofs.fuzz.bases import BASES, Line
from proofs.fuzz.damage import DAMAGES
from proofs.fuzz.write_monitor import WriteMonitor
from sapwood.analysis.session import Session
from sapwood.app.connection import Connection, connect
from sapwood.context_actions.archive_files import archive_of, write_archive
from sapwood.core.event_texts import event_texts
from sapwood.core.events import Recorded
from sapwood.imports.importer import Importer
from sapwood.programs.transcripts.discovery import FAR, NotATranscript, detect_source, reader_for
from sapwood.programs.transcripts.session_reader import read_session, session_of, tail_session

CASES = 100_000
_THROUGH_A_FILE = 20
"""One case in this many is written to a file, imported and archived."""

_MAX_DAMAGES = 4
_WORD = re.compile(r"[ab]\d{1,3}w\d{4}")


def damaged(number: int) -> tuple[str, list[Line]]:
    """The program and the damaged transcript of a case. The same number gives the same case."""
    chance = random.Random(number)
    source = chance.choice(list(BASES))
    lines = BASES[source](f"a{number % 1000}")
    for damage in chance.choices(DAMAGES, k=chance.randint(1, _MAX_DAMAGES)):
        if lines:
            lines = damage(chance, lines, source)
    return source, lines


def check(number: int) -> None:
    """Reads one damaged transcript from memory. Raises `AssertionError` if something was lost."""
    source, lines = damaged(number)
    reader = reader_for(source, Path("case.jsonl"))
    place = 0
    for line in lines:
        reader.feed(line.data, place)
        place += len(line.data) + 1
    path = Path("case.jsonl")
    sessions = [session_of(each, path) for each in (reader, *reader.children)]
    _require_words(number, lines, (text for each in sessions for text in _texts(each)))


async def check_through_a_file(number: int, folder: Path) -> None:
    """Reads one damaged transcript from a file, from its end too, imports it twice, archives it."""
    source, lines = damaged(number)
    path = folder / f"case-{number}.jsonl"
    path.write_bytes(b"\n".join(line.data for line in lines))
    try:
        session = read_session(path, source)
        tail_session(path, source, max_bytes=1_000)
        if detect_source(path.read_bytes()[:FAR]):
            read_session(path)
        write_archive(folder / "archives", archive_of(session, at="2026-11-14T12:00:00"))
        await _check_import(number, source, lines, path)
    except NotATranscript as refusal:
        raise AssertionError(f"case {number} was refused: {refusal}") from refusal
    finally:
        path.unlink()


async def _check_import(number: int, source: str, lines: Sequence[Line], path: Path) -> None:
    connection = await connect(str(path.with_suffix(".db")))
    importer = Importer(connection, idle_seconds=-1)
    done = await importer.bring(path, source)
    assert not done.problem, f"case {number}: {done.problem}"
    events = [each async for each in _all_events(connection)]
    _require_words(number, lines, (event_texts(each.event).search for each in events))
    again = await importer.bring(path, source)
    assert (again.turns, again.problem) == (0, ""), f"case {number} was imported twice"
    await importer.close()
    await connection.close()


async def _all_events(connection: Connection) -> AsyncIterator[Recorded]:
    for summary in await connection.log.agents(connection.space, limit=1_000):
        for recorded in await connection.log.read(connection.space, summary.agent):
            yield recorded


def _texts(session: Session) -> Iterator[str]:
    for turn in session.turns:
        yield from turn.texts()
    for boundary in session.boundaries:
        yield boundary.summary


def _require_words(number: int, lines: Iterable[Line], texts: Iterable[str]) -> None:
    """Every word of a sound row is somewhere in the texts."""
    words = {line.word for line in lines if line.sound and line.word}
    found = set(_WORD.findall("\n".join(texts)))
    if lost := words - found:
        raise AssertionError(f"case {number} lost {sorted(lost)}")


async def run(cases: int, first: int, folder: Path) -> None:
    """Checks this many cases."""
    for number in range(first, first + cases):
        try:
            check(number)
            if number % _THROUGH_A_FILE == 0:
                await check_through_a_file(number, folder)
        except Exception as error:
            error.add_note(f"python -m proofs.fuzz_sources --first {number} --cases 1")
            raise


def main(argv: list[str]) -> int:
    """Runs the cases and prints how many passed."""
    parser = argparse.ArgumentParser(prog="python -m proofs.fuzz_sources", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(argv)
    sys.dont_write_bytecode = True
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        os.environ["SAPWOOD_DATA"] = folder  # an import locks a file there
        watch = WriteMonitor(Path(folder))
        asyncio.run(run(options.cases, options.first, Path(folder)))
        outside = list(watch.outside)
    for line in outside:
        print(f"written outside of its folder: {line}", file=sys.stderr)
    print(f"in {time.monotonic() - started:.0f} s", file=sys.stderr)
    print(f"fuzz-sources: {options.cases:,} damaged transcripts, {len(outside)} writes elsewhere")
    return int(bool(outside))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
