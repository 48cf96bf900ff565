"""What the pages show is true: their Python is run, and what it prints is what they say.

On a page, all blocks marked ```python run one after the other in one namespace, in an empty
folder; `await` may stand anywhere, as in `python -m asyncio`. A ```text block right after one is
what it prints. A block marked ```python no-run is only looked at. Commands for a shell are run by
`test_commands.py`. A page that speaks of
`DATABASE_URL` gets a PostgreSQL database of its own. Its ```sql blocks run there too, and what
comes after them runs as the role that they make.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tools.markdown_pages import Block, blocks_of

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "coming-from").glob("*.md")),
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "packages").glob("*/README.md")),
]
PROGRAM = ROOT / "docs" / "examples" / "own_agent.py"
GUIDE = ROOT / "docs" / "guides" / "your-own-agent.md"

_numbers = itertools.count(1)


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_the_examples_of_a_page_run_and_print_what_it_says(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "DATABASE_URL" in page.read_text(encoding="utf-8"):
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("database").owner)
    namespace: dict[str, object] = {}
    printed = ""
    with asyncio.Runner() as runner:
        for block in blocks_of(page):
            match block.language, block.remark:
                case "python", "":
                    printed = run(runner, block, relative(page), namespace)
                case "sql", "":
                    database: Database = request.getfixturevalue("database")
                    runner.run(database.execute(block.body))
                    monkeypatch.setenv("DATABASE_URL", database.app)
                case "text", "":
                    assert printed == block.body, f"{relative(page)}:{block.line}"
                case _:
                    pass


def run(runner: asyncio.Runner, block: Block, page: str, namespace: dict[str, object]) -> str:
    """Runs a block and returns what it printed. Errors name the line of the page."""
    source = "\n" * (block.line - 1) + block.body
    code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        work = eval(code, namespace)
        if inspect.iscoroutine(work):
            runner.run(work)
    return output.getvalue()


class Database:
    """An empty database, and a role in the place of the one that pages call `sapwood_app`."""

    def __init__(self, dsn: str) -> None:
        self.name = f"sapwood_docs_{os.getpid()}_{next(_numbers)}"
        address = urlsplit(dsn)
        place = address.netloc.rpartition("@")[2]
        self.owner = address._replace(path=f"/{self.name}").geturl()
        self.app = address._replace(
            path=f"/{self.name}", netloc=f"{self.name}:{quote('change me')}@{place}"
        ).geturl()

    async def execute(self, statements: str) -> None:
        await execute(self.owner, statements.replace("sapwood_app", self.name))


async def execute(dsn: str, statements: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statements)
    finally:
        await connection.close()


@pytest.fixture
def database(postgres_dsn: str) -> Iterator[Database]:
    """A database of one's own, dropped afterwards."""
    made = Database(postgres_dsn)
    asyncio.run(execute(postgres_dsn, f"CREATE DATABASE {made.name}"))
    yield made
    asyncio.run(execute(postgres_dsn, f"DROP DATABASE {made.name} WITH (FORCE)"))
    asyncio.run(execute(postgres_dsn, f"DROP ROLE IF EXISTS {made.name}"))


def test_the_program_of_the_guide_is_short_and_stands_in_it_word_for_word() -> None:
    source = PROGRAM.read_text(encoding="utf-8")
    assert len(source.splitlines()) < 40
    assert source in [block.body for block in blocks_of(GUIDE)]


def test_the_program_of_the_guide_prints_what_the_guide_says(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    blocks = blocks_of(GUIDE)
    after = next(i for i, block in enumerate(blocks) if block.body == PROGRAM.read_text()) + 1
    assert done.stdout == blocks[after].body


def test_the_first_example_is_short() -> None:
    first = next(block for block in blocks_of(PAGES[0]) if block.language == "python")
    assert len(first.body.splitlines()) < 20
