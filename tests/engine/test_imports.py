"""The libraries of workers are imported only where workers run."""

import subprocess
import sys
from pathlib import Path

_HEAVY = 'print({"dbos", "sqlalchemy", "psycopg", "temporalio"} & set(sys.modules))'


def _printed(code: str, folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-c", f"import sys\n{code}\n{_HEAVY}", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_durable_engine_is_imported_only_when_asked_for(tmp_path: Path) -> None:
    assert _printed("import sapwood.engine", tmp_path) == "set()\n"


_RUNTIME = """
import asyncio, sapwood
from sapwood.testing import PlannedModel

async def main():
    model = PlannedModel(lambda request, heard: f"You said: {heard}")
    async with sapwood.open(sys.argv[1]) as wood, sapwood.runtime(wood, models=model):
        print((await (await wood.start(model="planned")).ask("Hello!")).text)

asyncio.run(main())
"""


def test_a_program_drives_agents_without_the_libraries_of_workers(
    tmp_path: Path, postgres_dsn: str
) -> None:
    for address in (str(tmp_path / "log.db"), postgres_dsn):
        assert _printed(_RUNTIME, tmp_path, address) == "You said: Hello!\nset()\n"
