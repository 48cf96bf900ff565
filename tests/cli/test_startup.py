"""Starting is quick, because nothing is imported that the command does not need."""

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.machine_speed import USUAL_START_MS
from sapwood.api import Sapwood
from sapwood.core.commands import StartAgent
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings
from sapwood.turns.clock_and_ids import command_meta
from tests.cli.calling import Database

HELP_NEEDS = frozenset({"click", "sapwood"})
# msgspec takes typing_extensions where it is installed.
LOOKING_NEEDS = HELP_NEEDS | {"msgspec", "platformdirs", "typing_extensions"}
HEAVY = frozenset({"asyncio", "logging", "sqlite3", "tomllib"})

HELP, AGENTS = 100.0, 500.0


def imported(*args: str) -> set[str]:
    """The top-level modules that are imported when the program has ended."""
    source = (
        "import sys; from sapwood.cli.entry import run; code = run(sys.argv[1:]); "
        "print(' '.join({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source, *args], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


def cpu(command: Sequence[str], compiled: Path, tries: int = 5) -> float:
    """Milliseconds of processor time that the command takes, at best, with compiled modules."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(compiled)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    best = float("inf")
    for _ in range(tries):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, used * 1000)
    return best


def slowness(compiled: Path) -> float:
    """How many times slower than usual Python starts here and now."""
    return max(1.0, cpu([sys.executable, "-c", "pass"], compiled) / USUAL_START_MS)


def others(modules: set[str]) -> set[str]:
    """Those of no standard library, without what an environment loads at every start."""
    at_every_start = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True
    ).stdout.split()
    return modules - sys.stdlib_module_names - {name.partition(".")[0] for name in at_every_start}


@pytest.mark.parametrize("args", [("--help",), (), ("--version",)])
def test_help_imports_what_it_needs_and_nothing_heavy(home: Path, args: tuple[str, ...]) -> None:
    modules = imported(*args)
    assert others(modules) <= HELP_NEEDS
    assert modules & HEAVY == set()


@pytest.mark.parametrize(
    "args", [("agents",), ("config",), ("run", "--help"), ("log", "--help"), ("search", "heron")]
)
def test_looking_imports_what_it_needs(home: Path, args: tuple[str, ...]) -> None:
    assert others(imported(*args)) <= LOOKING_NEEDS


def test_help_takes_under_100_ms(tmp_path: Path) -> None:
    used = cpu([sys.executable, "-m", "sapwood.cli", "--help"], tmp_path)
    assert used < HELP * slowness(tmp_path), f"{used:.0f} ms"


@pytest.mark.night
def test_10_000_agents_are_listed_in_under_500_ms(
    home: Path, database: Database, tmp_path: Path
) -> None:
    async def fill(db: Sapwood) -> None:
        dispatcher = db.connection.dispatcher

        async def start(number: int) -> None:
            command = StartAgent(AgentId(f"a{number}"), f"agent {number}", Settings(model="gpt-5"))
            await dispatcher.dispatch(command, command_meta())

        for first in range(0, 10_000, 500):
            await asyncio.gather(*map(start, range(first, first + 500)))

    database(fill)
    used = cpu([sys.executable, "-m", "sapwood.cli", "agents"], tmp_path / "compiled")
    assert used < AGENTS * slowness(tmp_path / "compiled"), f"{used:.0f} ms"
