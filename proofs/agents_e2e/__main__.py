"""The command line of the proof; its last line is the figure."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from proofs.agents_e2e.checks import Checks
from proofs.agents_e2e.drivers import ClaudeDriver, CodexDriver
from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.judged import answer_as_judge
from proofs.agents_e2e.model import Seen
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.agents_e2e.story import run_story
from scripted_model import ScriptedModel

DRIVERS = {"claude-code": ClaudeDriver, "codex": CodexDriver}


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m proofs.agents_e2e", description=__doc__)
    parser.add_argument("agent", nargs="?", choices=tuple(DRIVERS), help="only this one")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="leave the home there")
    options = parser.parse_args(arguments)
    try:
        programs = find_programs()
        enter_namespace(arguments)
        return _prove(options.agent, programs, options.keep)
    except ProofError as error:
        print(f"agents-e2e: {error}", file=sys.stderr)
        return 1


def _prove(only: str | None, programs: dict[str, Path], kept: Path | None) -> int:
    checks, started = Checks(), time.monotonic()
    checks.expect("no way leads out of here", not reaches_outside())
    names = (only,) if only else tuple(DRIVERS)
    for name in names:
        with tempfile.TemporaryDirectory(
            prefix="agents-e2e-",
            ignore_cleanup_errors=True,  # a program may still write there
        ) as folder:
            _prove_one(name, (kept or Path(folder)) / name, programs, checks)
    seconds = time.monotonic() - started
    total = checks.passed + checks.failed
    print(
        f"agents-e2e: {checks.passed} of {total} passed with {', '.join(names)} in {seconds:.0f} s"
    )
    return int(checks.failed > 0)


def _prove_one(name: str, root: Path, programs: dict[str, Path], checks: Checks) -> None:
    print(f"\n{name}", flush=True)
    with ScriptedModel(allow={"anthropic": ["safeguards"]}) as model:  # sent from a terminal
        answer_as_judge(model)
        home = Home(root, programs, model)
        run_story(DRIVERS[name](home), home, Seen(model), checks)
        checks.expect("the model refused nothing", not model.rejections, model.rejections)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
