"""`python -m proofs.crash_stream`: interrupts answers while they stream to a screen in tmux.

A fifth of the interruptions is on PostgreSQL, which is cut too. The last line has the figures.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from proofs.crash_stream.interruptions import KINDS, POSTGRES_KINDS, Findings, Interruptions
from proofs.tui_tmux.terminal import Failed
from scripted_model import ScriptedModel
from tools.postgres import cluster


def main(arguments: list[str]) -> int:
    """Returns 1 if a character was lost, or a turn was billed twice without a word."""
    parser = argparse.ArgumentParser(prog="python -m proofs.crash_stream", description=__doc__)
    parser.add_argument("--interruptions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}")
    findings, began = Findings(), time.monotonic()
    on_postgres = {"sqlite": 0, "postgres": options.interruptions}.get(
        options.database, options.interruptions // 5
    )
    try:
        if on_postgres < options.interruptions:
            on_sqlite(options.interruptions - on_postgres, findings, options.seed)
        if on_postgres:
            on_server(on_postgres, findings, options.seed)
    except Failed as failure:
        findings.sentences.append(str(failure))
    for kind, count in findings.kinds.items():
        print(f"  {count:4} {kind}")
    for sentence in findings.sentences:
        print(sentence, file=sys.stderr)
    print(
        f"crash-stream: {findings.kinds.total()} interruptions of {options.interruptions}, "
        f"{findings.shown} words shown, {findings.asked_again} turns asked again with a word about "
        f"it; characters shown and not in the log: {findings.missing}; turns billed twice without "
        f"a word: {findings.unsaid}; {time.monotonic() - began:.0f} s"
    )
    return int(bool(findings.sentences))


def on_sqlite(count: int, findings: Findings, seed: int) -> None:
    """Makes interruptions on SQLite."""
    with tempfile.TemporaryDirectory(prefix="sapwood-crash-") as name, model() as server:
        folder = Path(name)
        Interruptions(str(folder / "log.db"), folder, server, findings, seed).run(count, KINDS)


def on_server(count: int, findings: Findings, seed: int) -> None:
    """Makes interruptions on PostgreSQL."""
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-crash-") as name,
        cluster() as database,
        model() as server,
    ):

        def cut(seconds: float) -> None:
            database.stop(at_once=True)
            time.sleep(seconds)
            database.start()

        dsn, folder = database.dsn, Path(name)
        Interruptions(dsn, folder, server, findings, seed, cut).run(count, POSTGRES_KINDS)


def model() -> ScriptedModel:
    """A model whose answers take about a second."""
    return ScriptedModel(delay=0.03)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
