"""The command line of the proof; its last line is the figure."""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from proofs.agents_e2e.checks import Checks
from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.integrations.frameworks import FRAMEWORKS, python_of
from proofs.integrations.story import run_story


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m proofs.integrations", description=__doc__)
    parser.add_argument("framework", nargs="?", choices=tuple(FRAMEWORKS), help="only this one")
    options = parser.parse_args(arguments)
    names = (options.framework,) if options.framework else tuple(FRAMEWORKS)
    try:
        for name in names:
            python_of(FRAMEWORKS[name])
        enter_namespace(arguments, "proofs.integrations")
        return _prove(names)
    except ProofError as error:
        print(f"integrations: {error}", file=sys.stderr)
        return 1


def _prove(names: tuple[str, ...]) -> int:
    checks, began = Checks(), time.monotonic()
    checks.expect("no way leads out of here", not reaches_outside())
    for name in names:
        print(f"\n{name}", flush=True)
        before = checks.passed, checks.passed + checks.failed
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="integrations-") as folder:
            asyncio.run(run_story(FRAMEWORKS[name], Path(folder), checks))
        seconds = time.monotonic() - started
        passed, total = checks.passed - before[0], checks.passed + checks.failed - before[1]
        print(f"{name}: {passed} of {total} in {seconds:.0f} s", flush=True)
    seconds = time.monotonic() - began
    total = checks.passed + checks.failed
    print(
        f"\nintegrations: {checks.passed} of {total} passed with {', '.join(names)} "
        f"in {seconds:.0f} s"
    )
    return int(checks.failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
