"""The command line of the proof; its last line is the figure."""

import argparse
import sys
import time

from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.providers_e2e.act_checks import ActChecks
from proofs.providers_e2e.conversation import Conversation
from proofs.providers_e2e.crossing_story import run_crossing
from proofs.providers_e2e.driven_story import run_acts
from proofs.providers_e2e.temporary_home import temporary_home

__all__ = ["main"]

PROGRAMS = ("claude-code", "codex")
LIMIT = 600.0
"""The time limit of the whole proof, in seconds. On a quiet machine it takes a quarter of it."""


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m proofs.providers_e2e", description=__doc__)
    parser.add_argument("program", nargs="?", choices=PROGRAMS, help="only this one")
    parser.add_argument("--act", action="append", default=[], help="only these acts; repeatable")
    options = parser.parse_args(arguments)
    try:
        find_programs()
        enter_namespace(arguments, "proofs.providers_e2e")
    except ProofError as error:
        print(f"providers-e2e: {error}", file=sys.stderr)
        return 1
    checks, started = ActChecks(), time.monotonic()
    checks.expect("no way leads out of here", not reaches_outside())
    names = (options.program,) if options.program else PROGRAMS
    for name in names:
        _prove_one(name, checks, options.act)
    seconds = time.monotonic() - started
    checks.expect(f"it took less than {LIMIT:g} seconds", seconds < LIMIT)
    total = checks.passed + checks.failed
    done = f"{checks.passed} of {total} passed"
    print(f"providers-e2e: {done} with {', '.join(names)} in {seconds:.0f} s")
    return int(checks.failed > 0)


def _prove_one(program: str, checks: ActChecks, acts: list[str]) -> None:
    with temporary_home() as (home, model):
        run_acts(Conversation(home, model, checks, program), acts)
        checks.expect("the model refused nothing", not model.rejections, model.rejections)
    if not acts or "crossing" in acts:
        with temporary_home() as (home, model):
            run_crossing(Conversation(home, model, checks, program))
            checks.expect("the model refused nothing", not model.rejections, model.rejections)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
