"""The command line of the proof; its last line is the figure."""

import argparse
import asyncio
import sys

from proofs.e2e.checks import Checks
from proofs.e2e.runner import SCENES, prove
from proofs.e2e.wires import WIRES


def main(arguments: list[str]) -> int:
    """Runs the proof and returns 1 if a claim does not hold."""
    parser = argparse.ArgumentParser(prog="python -m proofs.e2e", description=__doc__)
    parser.add_argument("--wire", choices=WIRES, action="append", help="only this format")
    parser.add_argument("--scene", choices=SCENES, action="append", help="only this scene")
    options = parser.parse_args(arguments)
    checks, wires = Checks(), options.wire or list(WIRES)
    calls = sum(asyncio.run(prove(wire, options.scene or list(SCENES), checks)) for wire in wires)
    for sentence in checks.failed:
        print(sentence, file=sys.stderr)
    print(
        f"e2e: {len(wires)} wire formats, {calls} model calls replayed, "
        f"{checks.passed} of {checks.made} claims are true"
    )
    return int(bool(checks.failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
