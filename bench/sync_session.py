"""How long the session of an agent program takes to get another history, at the median.

The real programs run against the scripted model, without a network. A live change is measured from
the call to the session that has the history, by the clock on the wall. What bounds it: for Codex
two requests to its server, which reloads the thread from its file; for Claude Code the start of the
program, except for a rewind, which it does itself. A session at rest is measured by
the CPU of this process, because the disk is shared: reading the rows bounds it. Commands on long
sessions are measured as people give them, `sapwood clear 2 --session ID`, by the CPU they take.
"""

import argparse
import sys

from bench import QUICK_SLACK
from bench.sync_claude import claude_figures
from bench.sync_codex import codex_figures
from bench.sync_commands import command_figures
from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.namespace import enter_namespace


def main(argv: list[str]) -> int:
    """Prints the figures; returns 1 if one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m bench sync_session", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few samples, small transcripts")
    parser.add_argument("--commands", action="store_true", help="only those of commands")
    options = parser.parse_args(argv)
    try:
        find_programs()
        enter_namespace(sys.argv[1:], "bench")  # with `--keep`
    except ProofError as error:
        print(f"sync_session: {error}", file=sys.stderr)
        return 1
    samples, megabytes = (3, 10) if options.quick else (15, 40)
    slack = QUICK_SLACK if options.quick else 1.0
    figures = command_figures(megabytes)
    if not options.commands:
        figures += codex_figures(samples, megabytes) + claude_figures(samples, megabytes)
    for figure in figures:
        print(figure.line(slack))
    missed = [figure.name for figure in figures if not figure.fits(slack)]
    limited = sum(figure.limit is not None for figure in figures)
    print(f"sync_session: {limited - len(missed)} of {limited} figures are within their limits")
    return int(bool(missed))
