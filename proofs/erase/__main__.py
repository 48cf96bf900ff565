"""The command line of the proof; its last line is the verdict."""

import argparse
import asyncio
import base64
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from proofs.erase.proof import Findings, prove
from tools.postgres import cluster

STORES = ("sqlite", "postgres")
_SHOWN = 20
_KEY = "SAPWOOD_ENCRYPTION_KEY"


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a marker of erased data was found or something else changed."""
    parser = argparse.ArgumentParser(prog="python -m proofs.erase", description=__doc__)
    parser.add_argument("--histories", type=int, default=1_000, help="in all, on both stores")
    parser.add_argument("--store", choices=(*STORES, "both"), default="both")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9, help="to repeat a run")
    parser.add_argument(
        "--encrypted", action="store_true", help="in encrypted spaces: no marker is ever found"
    )
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}")
    os.environ.pop(_KEY, None)
    if options.encrypted:
        os.environ[_KEY] = base64.b64encode(os.urandom(32)).decode()
    stores = STORES if options.store == "both" else (options.store,)
    total = Findings()
    for store in stores:
        began = time.monotonic()
        found = _run(store, max(8, options.histories // len(stores)), options.seed)
        for problem in found.problems[:_SHOWN]:
            print(f"{store}: {problem}", file=sys.stderr)
        print(f"{store}: {found.text()}; {time.monotonic() - began:.0f} s", flush=True)
        total.add(found)
    holds = (
        total.erasures
        and total.killed
        and bool(total.planted) != options.encrypted
        and total.reread
        and not total.problems
        and not total.left
    )
    print(f"erase: {total.text()}: {'holds' if holds else 'FAILS'}")
    return 0 if holds else 1


def _run(store: str, histories: int, seed: int) -> Findings:
    with tempfile.TemporaryDirectory(prefix="sapwood-erase-") as name:
        folder = Path(name)
        os.environ["SAPWOOD_DATA"] = str(folder / "data")
        os.environ["SAPWOOD_CONFIG"] = str(folder / "config.toml")
        if store == "sqlite":
            return asyncio.run(prove(str(folder / "log.db"), [folder], folder, histories, seed))
        with cluster() as server:
            # Files of the write-ahead log that are not needed are removed and not kept for reuse.
            for setting in ("wal_recycle = off", "min_wal_size = '32MB'"):
                _execute(server.dsn, f"ALTER SYSTEM SET {setting}")
            _execute(server.dsn, "SELECT pg_reload_conf()")
            raw = [folder, server.folder]
            return asyncio.run(prove(server.dsn, raw, folder, histories, seed))


def _execute(dsn: str, statement: str) -> None:
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    path = os.pathsep.join([*map(str, reversed(programs)), os.environ.get("PATH", "")])
    subprocess.run(
        ["psql", "--quiet", "--command", statement, dsn],
        check=True,
        capture_output=True,
        env={**os.environ, "PATH": path},
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
