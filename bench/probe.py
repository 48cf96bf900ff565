"""How long the probe of a program takes, and how much CPU it uses beside one bare start.

The real programs run without bubblewrap here, because the CPU of what ran in a process namespace
is not reported. A bare start is a new session with one turn. The starts bound it: the program
starts twice, for a session and to resume it.
"""

import argparse
import asyncio
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import QUICK_SLACK
from bench.kept_figures import figure
from bench.sync_figures import Figure
from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.namespace import enter_namespace
from sapwood.core.content import Text
from sapwood.programs.agent_provider import ProgramInfo, ProviderOptions
from sapwood.programs.probe.model_server import ModelServer
from sapwood.programs.probe.probe_process import run_probe
from sapwood.programs.registry import program

_EXECUTABLES = {"claude-code": "claude", "codex": "codex"}


def main(argv: list[str]) -> int:
    """Prints the figures; returns 1 if one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m bench probe", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few samples")
    options = parser.parse_args(argv)
    try:
        paths = find_programs()
        enter_namespace(sys.argv[1:], "bench")  # with `--keep`
    except ProofError as error:
        print(f"probe: {error}", file=sys.stderr)
        return 1
    samples, slack = (1, QUICK_SLACK) if options.quick else (5, 1.0)
    figures: list[Figure] = []
    for name, executable in _EXECUTABLES.items():
        figures += _figures(name, str(paths[executable]), samples)
    for each in figures:
        print(each.line(slack))
    missed = [each.name for each in figures if not each.fits(slack)]
    limited = sum(each.limit is not None for each in figures)
    print(f"probe: {limited - len(missed)} of {limited} figures are within their limits")
    return int(bool(missed))


def _figures(name: str, path: str, samples: int) -> list[Figure]:
    def probe() -> None:
        result = run_probe(name, path, "", os.environ, isolate=False)
        if not result.proved:
            raise RuntimeError(f"{name} was not proved: {result.reason}")

    probes = [_measured(probe) for _ in range(samples)]
    starts = [_measured(lambda: asyncio.run(_bare_start(name, path))) for _ in range(samples)]
    wall = statistics.median(each[0] for each in probes)
    cpu = statistics.median(each[1] for each in probes)
    bare = statistics.median(each[1] for each in starts)
    figure(f"probe: {name}, CPU in bare starts", cpu / bare)
    return [
        Figure(f"{name}: a probe, on the wall", wall, "s", 3.0),
        Figure(f"{name}: CPU of a probe, beside one bare start", cpu - bare, "s", 2.0),
        Figure(f"{name}: CPU of a bare start", bare, "s", None),
    ]


def _measured(act: Callable[[], None]) -> tuple[float, float]:
    """The seconds on the wall, and of CPU in all processes that it started."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    act()
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def _bare_start(name: str, path: str) -> None:
    """A new session with one turn."""
    tested = program(name)
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as folder:
        home = Path(folder)
        async with ModelServer.running() as model:
            environ = {"PATH": os.environ["PATH"], "HOME": folder}
            environ |= tested.probe(home, model.url, model.key)
            info = ProgramInfo(name, path, "", True)
            provider = tested.provider(home / "data", environ, info)
            session = await provider.start(ProviderOptions(folder))
            async for _ in provider.send(session, (Text("Hello."),), "bench:1"):
                pass
            await provider.close()
