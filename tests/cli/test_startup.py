"""Starting is quick, because nothing is imported that the command does not need."""

import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from sapwood.core.commands import StartAgent
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings
from sapwood.runtime.fresh import given
from tests.cli.calling import Database

HEAVY = frozenset(
    "anthropic asyncio asyncpg dbos genai_prices google httpx httpx2 logging mcp msgspec openai "
    "platformdirs pydantic pydantic_ai sqlalchemy sqlite3 textual tomllib".split()
)
NO_MODELS = frozenset(
    "anthropic asyncpg dbos genai_prices google httpx httpx2 mcp openai pydantic pydantic_ai "
    "sqlalchemy textual".split()
)

# A machine on which Python itself starts in so many milliseconds is what the limits are for.
USUAL_START = 12.0
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


def cpu(command: Sequence[str], tries: int = 5) -> float:
    """Milliseconds of processor time that the command takes, at best."""
    best = float("inf")
    for _ in range(tries):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, used * 1000)
    return best


def slowness() -> float:
    """How many times slower than usual Python starts here and now."""
    return max(1.0, cpu([sys.executable, "-c", "pass"]) / USUAL_START)


@pytest.mark.parametrize("args", [("--help",), (), ("--version",)])
def test_help_imports_nothing_heavy(home: Path, args: tuple[str, ...]) -> None:
    assert imported(*args) & HEAVY == set()


@pytest.mark.parametrize("args", [("agents",), ("config",), ("run", "--help"), ("log", "--help")])
def test_looking_imports_nothing_that_talks_to_models(home: Path, args: tuple[str, ...]) -> None:
    assert imported(*args) & NO_MODELS == set()


def test_help_takes_under_100_ms() -> None:
    used = cpu([sys.executable, "-m", "sapwood.cli", "--help"])
    assert used < HELP * slowness(), f"{used:.0f} ms"


def test_10_000_agents_are_listed_in_under_500_ms(home: Path, database: Database) -> None:
    async def fill(wood: Sapwood) -> None:
        dispatcher = wood.connection.dispatcher
        for number in range(10_000):
            start = StartAgent(AgentId(f"a{number}"), f"agent {number}", Settings(model="gpt-5"))
            await dispatcher.dispatch(start, given())

    database(fill)
    used = cpu([sys.executable, "-m", "sapwood.cli", "agents"])
    assert used < AGENTS * slowness(), f"{used:.0f} ms"
