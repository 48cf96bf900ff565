"""Rows of `bench sync_session` for commands: the first on a long session, and those after it.

The figure is the processor time of the whole command, with the start of Python, divided by how much
slower than usual Python starts at that moment. The first command changes the session, and a process
of its own imports it then; its CPU is not counted. The same commands on a session of a few turns
show what any command takes. Below it stands what is left of the commands without a bare start of
Python, and without a process that only imports the modules of the command.
"""

import asyncio
import json
import statistics
import sys
from typing import NamedTuple

from bench.kept_figures import figure
from bench.machine_speed import cpu_ms, python_start_ms, slowness_by
from bench.sync_figures import Figure
from bench.transcripts import write_claude, write_codex
from proofs.providers_e2e.claude_world import ClaudeWorld, claude_world
from sapwood.programs.claude_code.installed_program import project_folder

FIRST_MS, AGAIN_MS = 1_000.0, 700.0
"""Wanted are 1,000 and 100. The first command reads the session, and again for its rows. A command
after it takes more than 250 ms on a session of a few turns, almost all for the start of Python and
the import of modules."""
_LISTING = """
import os, sys
names, leave = sys.argv.pop(1), os._exit
def end(code):
    with open(names, "w") as file:
        print(*sorted(set(sys.modules) - {"__main__"}), sep="\\n", file=file)
    leave(code)
os._exit = end
from sapwood.cli import main
main()
"""
"""Runs a command, and writes the names of the modules that it imported into a file."""
_IMPORTING = """
import sys
from contextlib import suppress
from importlib import import_module
for name in open(sys.argv[1]).read().split():
    with suppress(Exception):
        import_module(name)
"""
_AGAIN = ("undo", "mark here", "clear 3", "rewind here", "undo")
_TITLES = {"claude-code": "Claude Code", "codex": "Codex"}
_FEW_BYTES = 1_000_000


def command_figures(megabytes: int) -> list[Figure]:
    """Measures the commands on sessions of both programs."""
    return asyncio.run(_figures(megabytes * 1_000_000))


async def _figures(size: int) -> list[Figure]:
    figures: list[Figure] = []
    for program, title in _TITLES.items():
        async with claude_world() as world:
            await asyncio.to_thread(_run, world, "programs")  # tests the programs, once
            few = await asyncio.to_thread(_costs, world, program, _FEW_BYTES)
        async with claude_world() as world:
            await asyncio.to_thread(_run, world, "programs")
            long = await asyncio.to_thread(_costs, world, program, size)
        name = f"{title}, first command on {size // 1_000_000} MB"
        figures += [
            Figure(name, long.first, "ms of CPU", FIRST_MS),
            Figure("  the commands after it", long.again, "ms of CPU", AGAIN_MS),
            Figure("  the same on a session of a few turns", few.again, "ms of CPU", None),
        ]
        for name, costs in (("long session", long), ("a few turns", few)):
            beside = (costs.again - costs.start, costs.again - costs.imports)
            figures += [
                Figure(f"  {name}: beside a bare start", beside[0], "ms of CPU", None),
                Figure(f"  {name}: beside its imports", beside[1], "ms of CPU", None),
            ]
            kept = f"sync_session: {title}, {name}: a command, in starts of Python"
            figure(kept, beside[0] / costs.start)
    return figures


class _Costs(NamedTuple):
    """The processor time of the first command, and the median of those after it.

    `start` is that of a bare Python, and `imports` that of a process that imports the same modules.
    """

    first: float
    again: float
    start: float
    imports: float


def _costs(world: ClaudeWorld, program: str, size: int) -> _Costs:
    session = (_claude if program == "claude-code" else _codex)(world, size)
    starts = [python_start_ms() for _ in range(5)]
    first = _run(world, "clear", "2", "--session", session)
    again: list[float] = []
    for command in _AGAIN:
        starts.append(python_start_ms())
        again.append(_run(world, *command.split(), "--session", session))
    names = world.home.root / "modules"
    listing = [sys.executable, "-c", _LISTING, str(names), "redo", "--session", session]
    cpu_ms(listing, b"", world.home.environ)
    importing = [sys.executable, "-c", _IMPORTING, str(names)]
    imports = [cpu_ms(importing, b"", world.home.environ) for _ in _AGAIN]
    homes = (world.home.claude / "projects", world.home.codex / "sessions")
    if len([each for home in homes for each in home.rglob("*.jsonl")]) != 1:
        raise RuntimeError(f"{program} was not changed in place: its test failed on this machine")
    slowness = slowness_by(starts)
    medians = [statistics.median(each) for each in (again, starts, imports)]
    return _Costs(*(each / slowness for each in (first, *medians)))


def _run(world: ClaudeWorld, *arguments: str) -> float:
    command = [sys.executable, "-m", "sapwood.cli", *arguments]
    return cpu_ms(command, b"", world.home.environ)


def _claude(world: ClaudeWorld, size: int) -> str:
    session = "0a1b2c3d-0000-4000-8000-000000000001"
    folder = world.home.claude / "projects" / project_folder(str(world.home.project))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "new.jsonl"
    write_claude(path, size)
    whole = path.read_text()
    own = whole.partition('"sessionId":"')[2].partition('"')[0]
    path.with_name(f"{session}.jsonl").write_text(whole.replace(own, session))
    path.unlink()
    return session


def _codex(world: ClaudeWorld, size: int) -> str:
    session = "01a1e0e5-0000-7000-8000-000000000001"
    folder = world.home.codex / "sessions" / "2026" / "11" / "15"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-2026-11-15T20-00-00-{session}.jsonl"
    write_codex(path, size)
    first, _, rest = path.read_text().partition("\n")
    meta = json.loads(first)
    meta["payload"]["id"] = session
    path.write_text(f"{json.dumps(meta, separators=(',', ':'))}\n{rest}")
    return session
