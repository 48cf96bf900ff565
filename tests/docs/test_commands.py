"""What the pages type is true: their commands are run, and what they print is what they say.

In a block marked ```console, a line after `$ ` is run by a shell, in an empty home, beside the
transcripts of docs/examples and with a scripted model at the other end; the lines below it are what
it prints, on stdout and stderr alike. `…` stands for anything. A block marked ```sh is run as a
whole and must succeed; one marked ```sh no-run is not, and says why. What a page leaves running
is ended with it. A page that speaks of DATABASE_URL gets a PostgreSQL database of its own.
"""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from sapwood.config.config_file import parse_config
from scripted_model import ScriptedModel
from tests.docs.answers import answer
from tests.docs.test_examples import PAGES, ROOT, relative
from tests.postgres_session import new_database
from tests.programs.proved import keep_proof
from tools.markdown_pages import Block, blocks_of

EXAMPLES = ROOT / "docs" / "examples"
LANGUAGES = ("console", "sh")
TYPING = [page for page in PAGES if any(b.language in LANGUAGES for b in blocks_of(page))]
READ_FIRST = ("README", "rewind-claude-code", "command-line", "claude-code-and-codex")
"""Pages whose commands are run with every change; those of the others take a minute more."""
_BY_LENGTH = [
    page if page.stem in READ_FIRST else pytest.param(page, marks=pytest.mark.night)
    for page in TYPING
]
_numbers = itertools.count(1)


class Typed(NamedTuple):
    """A command of a page, and what the page says that it prints, if it says so."""

    command: str
    printed: str | None
    line: int


def typed(page: Path) -> Iterator[Typed]:
    for block in blocks_of(page):
        if block.language == "console":
            for found in re.finditer(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.body, re.MULTILINE):
                line = block.line + block.body[: found.start()].count("\n")
                yield Typed(found[1], found[2], line)
        elif block.language == "sh" and not block.remark:
            yield Typed(f"set -e\n{block.body}", None, block.line)


class Shell:
    """Runs commands one after the other, and ends what they left running."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.folder = folder
        self.variables = variables
        self._groups: list[int] = []

    def run(self, command: str) -> tuple[int, str]:
        """The code and the output of a command."""
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._groups.append(process.pid)
        printed, _ = process.communicate(timeout=280)
        return process.returncode, printed

    def close(self) -> None:
        """Ends every process that is left."""
        for group in self._groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


@pytest.fixture
def shell(tmp_path: Path) -> Generator[Shell]:
    """A shell in a home of its own, with the program on the path, and a model to ask."""
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    for transcript in EXAMPLES.glob("*.jsonl"):
        shutil.copy(transcript, work)
    stand_in = tmp_path / "claude"  # answers with the version that Sapwood asks for
    stand_in.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    stand_in.chmod(0o755)
    program = programs / "sapwood"
    run = "from sapwood.cli import main; main()"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{run}" "$@"\n')
    program.chmod(0o755)
    with ScriptedModel() as model:
        model.script(answer)
        config = tmp_path / "config" / "config.toml"
        config.parent.mkdir()
        config.write_text(f'[base_urls]\nanthropic = "{model.anthropic_url}"\n')
        shell = Shell(
            work,
            {
                "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT / "src"),  # this tree, whichever is installed
                "HOME": str(tmp_path),
                "SAPWOOD_CONFIG": str(config),
                "MY_KEY": "sk-ant-scripted",
                "COLUMNS": "80",
                "LANG": "C.UTF-8",
            },
        )
        try:
            yield shell
        finally:
            shell.close()
        assert model.rejections == []


@pytest.fixture
def database(postgres_dsn: str) -> Generator[str]:
    """A PostgreSQL database of a page's own."""
    with new_database(postgres_dsn) as address:
        yield address


@pytest.mark.parametrize("page", _BY_LENGTH, ids=relative)
def test_the_commands_of_a_page_print_what_it_says(
    page: Path, shell: Shell, request: pytest.FixtureRequest
) -> None:
    if page.stem in ("rewind-claude-code", "tend-claude-code", "README"):
        stand_in = Path(shell.variables["HOME"], "claude")
        shell.variables["SAPWOOD_CLAUDE"] = str(stand_in)
        keep_proof(stand_in.parent / ".local" / "share" / "sapwood", "claude-code", stand_in)
    if "DATABASE_URL" in page.read_text(encoding="utf-8"):
        shell.variables["DATABASE_URL"] = request.getfixturevalue("database")
    for each in typed(page):
        code, printed = shell.run(each.command)
        place = f"{relative(page)}:{each.line} ended with {code} and printed\n{printed}"
        if each.printed is None:
            assert code == 0, place
        else:
            expected = ".*".join(re.escape(part) for part in each.printed.split("…"))
            assert re.fullmatch(expected, printed, re.DOTALL), place


def test_there_are_commands_to_run() -> None:
    assert len(TYPING) > 5


def blocks(language: str) -> list[tuple[str, Block]]:
    return [
        (f"{relative(page)}:{block.line}", block)
        for page in PAGES
        for block in blocks_of(page)
        if block.language == language
    ]


def test_what_is_not_run_says_why() -> None:
    remarks = {place: block.remark for place, block in blocks("sh") if block.remark}
    assert {place for place, why in remarks.items() if not re.match(r"no-run: \w+", why)} == set()


@pytest.mark.parametrize(
    ("place", "block"),
    [(place, block) for place, block in blocks("toml") if block.body.startswith("# config.toml")],
)
def test_a_configuration_is_one(place: str, block: Block) -> None:
    parse_config(block.body, Path(place))
