"""The command line of the proof; its last line is the verdict."""

import argparse
import os
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from proofs.revert.checks import Findings
from proofs.revert.history import play

_SHOWN = 20
_OTHER_USER = 65534
_SHARE_OF_OTHER_USER = 3
"""Every third history belongs to another user, if root runs the proof."""


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a file was lost, changed its mode, or was touched outside."""
    parser = argparse.ArgumentParser(prog="python -m proofs.revert", description=__doc__)
    parser.add_argument("--histories", type=int, default=2_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--seed", type=int, default=1, help="of the first history")
    options = parser.parse_args(arguments)
    began, findings = time.monotonic(), Findings([], [], [], [])
    seeds = range(options.seed, options.seed + options.histories)
    for part, other_user in _parts(seeds):
        findings.add(_play_all(part, options.processes, other_user))
    for problem in findings.problems[:_SHOWN]:
        print(problem, file=sys.stderr)
    print(
        f"{findings.histories:,} histories, {findings.turns:,} turns, {findings.reverts:,} reverts "
        f"with their way back, {findings.killed:,} of them killed and {findings.finished:,} "
        f"finished by the next process, {findings.files:,} files compared; "
        f"{time.monotonic() - began:.0f} s"
    )
    verdict = "FAILS" if findings.problems else "holds"
    print(
        f"revert: files lost {len(findings.lost)}, modes changed {len(findings.modes)}, "
        f"files touched outside the workspace {len(findings.outside)}, "
        f"other problems {len(findings.other)}: {verdict}"
    )
    return int(bool(findings.problems))


def _parts(seeds: range) -> list[tuple[list[int], bool]]:
    """The histories of this user, and those of another one."""
    if os.geteuid() != 0:
        return [(list(seeds), False)]
    other = [seed for seed in seeds if seed % _SHARE_OF_OTHER_USER == 0]
    return [([seed for seed in seeds if seed not in set(other)], False), (other, True)]


def _play_all(seeds: list[int], processes: int, other_user: bool) -> Findings:
    findings = Findings([], [], [], [])
    context = get_context("fork")
    with ProcessPoolExecutor(processes, context, _begin, (other_user,)) as pool:
        running: list[Future[Findings]] = [pool.submit(play, seed) for seed in seeds]
        for each in as_completed(running):
            findings.add(each.result())
    return findings


def _begin(other_user: bool) -> None:
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    os.umask(0o022)
    if other_user:
        play(0)  # imports everything: the other user may not be able to read the modules
        os.setgroups([])
        os.setgid(_OTHER_USER)
        os.setuid(_OTHER_USER)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
