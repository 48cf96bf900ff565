"""The command line of the proof; its last line is the figure."""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.opencode.__main__ import run_traps as run_opencode_traps
from proofs.providers_e2e import claude_traps, codex_traps
from proofs.providers_e2e.act_checks import ActChecks, acts_printed
from proofs.providers_e2e.conversation import Conversation
from proofs.providers_e2e.crossing_story import run_crossing
from proofs.providers_e2e.driven_story import run_acts
from proofs.providers_e2e.generated_story import run_every_kind, run_generated
from proofs.providers_e2e.support_table import version_of, write_acts
from proofs.providers_e2e.temporary_home import PROGRAMS, find_all_programs, temporary_home
from sapwood.programs.registry import program as program_named

TRAPS = {
    "claude-code": claude_traps.run_traps,
    "codex": codex_traps.run_traps,
    "opencode": run_opencode_traps,
}
QUICK = (
    "clear_at_rest",
    "summary",
    "the_program_is_killed",
    "own_screen",
    "crossing",
    "typed_commands",
    "rewind_inside",
    "later_without_hooks",
    "own_compactions",
    "generated",
)
"""The acts of `--quick`, besides the first one."""
APART = ("every_kind", "generated", "traps")
"""Acts that need no conversation that Sapwood drives."""
SESSIONS, QUICK_SESSIONS = 8, 1


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m proofs.providers_e2e", description=__doc__)
    parser.add_argument("program", nargs="?", choices=PROGRAMS, help="only this one")
    parser.add_argument("--act", action="append", default=[], help="only these acts; repeatable")
    parser.add_argument("--executable", type=Path, help="of another version of the program")
    parser.add_argument("--quick", action="store_true", help="some acts, and no traps")
    parser.add_argument("--sessions", type=int, help="how many sessions are generated")
    parser.add_argument("--seed", type=int, default=0, help="the first generated session")
    parser.add_argument("--write", action="store_true", help="write the results into the guide")
    parser.add_argument("--printed", type=Path, help="write what an interrupted run printed")
    options = parser.parse_args(arguments)
    if options.printed:
        return _write_printed(options.printed)
    if options.executable and not options.program:
        parser.error("--executable needs the program")
    try:
        find_all_programs()
        enter_namespace(arguments, "proofs.providers_e2e")
    except ProofError as error:
        print(f"providers-e2e: {error}", file=sys.stderr)
        return 1
    checks, started = ActChecks(), time.monotonic()
    checks.expect("no way leads out of here", not reaches_outside())
    names = (options.program,) if options.program else PROGRAMS
    versions: dict[str, str] = {}
    acts = [*options.act, *(QUICK if options.quick else ())]
    sessions = options.sessions or (QUICK_SESSIONS if options.quick else SESSIONS)
    for name in names:
        if not acts or not set(acts) <= set(APART):
            versions[name] = _prove_one(name, checks, acts, options.executable)
        else:
            with temporary_home() as (home, _):
                versions[name] = version_of(home, name)
        if not acts or "every_kind" in acts:
            run_every_kind(name, checks)
        if not acts or "generated" in acts:
            run_generated(name, checks, sessions, options.seed)
        if name in TRAPS and (not acts or "traps" in acts):
            asyncio.run(_try_traps(name, checks))
    if options.write:
        write_acts(checks.acts, versions, some=bool(acts))
    seconds = time.monotonic() - started
    total = checks.passed + checks.failed
    done = f"{checks.passed} of {total} passed"
    print(f"providers-e2e: {done} with {', '.join(names)} in {seconds:.0f} s")
    return int(checks.failed > 0)


def _write_printed(path: Path) -> int:
    """Writes the acts that an interrupted run printed; the next run can try the others."""
    acts = acts_printed(path.read_text("utf-8").splitlines())
    with temporary_home() as (home, _):
        versions = {name: version_of(home, name) for name in {act.program for act in acts}}
    write_acts(acts, versions, some=True)
    print(f"providers-e2e: wrote {len(acts)} acts of {', '.join(versions)}")
    return 0


def _prove_one(program: str, checks: ActChecks, acts: list[str], executable: Path | None) -> str:
    others = {program_named(program).executable: executable} if executable else {}
    with temporary_home(others) as (home, model):
        version = version_of(home, program)
        run_acts(Conversation(home, model, checks, program), acts)
        checks.expect("the model refused nothing", not model.rejections, model.rejections)
    if not acts or "crossing" in acts:
        with temporary_home(others) as (home, model):
            run_crossing(Conversation(home, model, checks, program))
            checks.expect("the model refused nothing", not model.rejections, model.rejections)
    return version


async def _try_traps(program: str, checks: ActChecks) -> None:
    checks.begin(program, "Every trap that was found")
    await TRAPS[program](checks, [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
