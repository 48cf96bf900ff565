"""`just fuzz-tools`: hostile calls of every tool, through the runtime. Prints the counts.

Fails if a call has no result, a turn stays open, or a tool raised an exception that it should not.
"""

import argparse
import asyncio
import sys
import time

from proofs.fuzz_tools.fuzz_run import fuzz


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proofs.fuzz_tools")
    parser.add_argument("--calls", type=int, default=100_000, help="how many calls")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=40, help="give up after so long")
    options = parser.parse_args()
    began = time.monotonic()
    counts = asyncio.run(fuzz(options.calls, options.seed, options.minutes * 60))
    seconds = time.monotonic() - began
    print(f"{counts.calls:,} calls in {counts.turns:,} turns, {seconds:.0f} s, seed {options.seed}")
    for tool, count in sorted(counts.by_tool.items()):
        print(f"  {tool:14} {count:>9,}")
    print(f"{counts.results:,} results, of which {counts.errors:,} are errors")
    print(f"{counts.missing:,} calls without a result, {counts.open_turns:,} turns left open")
    print(f"{len(counts.defects):,} exceptions")
    for defect in counts.defects[:10]:
        print(f"  {defect}")
    if counts.calls < options.calls:
        print(f"stopped after {options.minutes:g} minutes, before all {options.calls:,} calls")
    return 0 if counts.is_good and counts.calls >= options.calls else 1


if __name__ == "__main__":
    sys.exit(main())
