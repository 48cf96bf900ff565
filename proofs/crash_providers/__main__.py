"""The command line of the proof; its last line has the figures."""

import argparse
import random
import sys
import time

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.namespace import enter_namespace
from proofs.crash_providers.kill_rounds import KillRounds
from proofs.providers_e2e.act_checks import ActChecks
from proofs.providers_e2e.conversation import Conversation
from proofs.providers_e2e.temporary_home import PROGRAMS, find_all_programs, temporary_home


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if anything was lost or doubled, or if the time was too short."""
    parser = argparse.ArgumentParser(prog="python -m proofs.crash_providers", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="in all, shared by the programs")
    parser.add_argument("--program", choices=PROGRAMS, action="append", help="only this one")
    parser.add_argument("--minutes", type=float, default=40.0, help="the limit of the whole proof")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="to repeat the chances")
    options = parser.parse_args(arguments)
    try:
        find_all_programs()
        enter_namespace([*arguments, "--seed", str(options.seed)], "proofs.crash_providers")
    except ProofError as error:
        print(f"crash-providers: {error}", file=sys.stderr)
        return 1
    print(f"seed {options.seed}")
    started, names, faults = time.monotonic(), options.program or PROGRAMS, 0
    results: list[str] = []
    for number, name in enumerate(names):
        share = options.kills // len(names) + (number < options.kills % len(names))
        until = started + options.minutes * 60 * (number + 1) / len(names)
        result, failed = _prove(name, share, until, options.seed)
        results.append(result)
        faults += failed
        print(result, flush=True)
    print(f"crash-providers: {'; '.join(results)}; {time.monotonic() - started:.0f} s")
    return int(faults > 0)


def _prove(program: str, kills: int, until: float, seed: int) -> tuple[str, int]:
    with temporary_home() as (home, model):
        talk = Conversation(home, model, ActChecks(), program)
        rounds = KillRounds(talk, random.Random(f"{seed}:{program}"))
        rounds.begin()
        while rounds.kills.total() < kills:
            if time.monotonic() > until:
                rounds.faults.append("the time was too short")
                break
            began = time.monotonic()
            rounds.round()
            done = f"{rounds.kills.total()} of {kills} kills, {rounds.missed} too late"
            print(f"  {program}: {done}, {time.monotonic() - began:.0f} s", flush=True)
        done = ", ".join(f"{count} of {what}" for what, count in sorted(rounds.kills.items()))
        result = (
            f"{program}: {rounds.kills.total()} of {kills} kills ({done}),"
            f" {rounds.moments['before a request']} before a request, {rounds.missed} too late,"
            f" {rounds.acknowledged} acknowledged turns, {len(rounds.faults)} faults,"
            f" {len(model.rejections)} refused requests"
        )
        return result, len(rounds.faults) + len(model.rejections)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
