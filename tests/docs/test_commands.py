"""What the pages type is true: their commands are run, and what they print is what they say.

In a block marked ```console, a line after `$ ` is run by a shell, in an empty home, beside the
transcripts of docs/examples and with a scripted model at the other end; the lines below it are what
it prints, on stdout and stderr alike. `…` stands for anything. Blocks marked ```sh are only looked
at.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sapwood.testing.scripted import Asked, ScriptedModel
from tests.docs.test_examples import PAGES, blocks_of, relative

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
CONSOLES = [page for page in PAGES if any(b.language == "console" for b in blocks_of(page))]
ANSWERS = {
    "What is 6 x 7?": "42",
    "Where do herons nest?": "In tall trees.",
    "And storks?": "On roofs.",
    "Review this change.": "It takes a return away.",
    "Run the tests.": "All green.",
}


class Typed(NamedTuple):
    """A command of a page, and what the page says that it prints."""

    command: str
    printed: str
    line: int


def typed(page: Path) -> Iterator[Typed]:
    for block in blocks_of(page):
        if block.language == "console":
            for found in re.finditer(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.body, re.MULTILINE):
                line = block.line + block.body[: found.start()].count("\n")
                yield Typed(found[1], found[2], line)


@pytest.fixture
def shell(tmp_path: Path) -> Generator[dict[str, str]]:
    """An environment with a home of its own, the program on the path, and a model to ask."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, entry in {"sapwood": "main", "context": "context"}.items():
        program = programs / name
        run = f"from sapwood.cli import {entry}; {entry}()"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{run}" "$@"\n')
        program.chmod(0o755)
    with ScriptedModel() as model:
        model.script(answer)
        config = tmp_path / "config" / "config.toml"
        config.parent.mkdir()
        config.write_text(f'[base_urls]\nanthropic = "{model.anthropic_url}"\n')
        yield {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "SAPWOOD_CONFIG": str(config),
            "MY_KEY": "sk-ant-scripted",
            "COLUMNS": "80",
            "LANG": "C.UTF-8",
        }
        assert model.rejections == []


def answer(asked: Asked) -> str:
    first = asked.prompt.splitlines()[0]
    return ANSWERS[first]


@pytest.mark.parametrize("page", CONSOLES, ids=relative)
def test_the_commands_of_a_page_print_what_it_says(
    page: Path, tmp_path: Path, shell: dict[str, str]
) -> None:
    pytest.importorskip("pydantic_ai", reason="the extra 'models' is not installed")
    work = tmp_path / "work"
    work.mkdir()
    for transcript in EXAMPLES.glob("*.jsonl"):
        shutil.copy(transcript, work)
    for each in typed(page):
        done = subprocess.run(
            ["bash", "-c", each.command],
            cwd=work,
            env=shell,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        expected = ".*".join(re.escape(part) for part in each.printed.split("…"))
        assert re.fullmatch(expected, done.stdout, re.DOTALL), (
            f"{relative(page)}:{each.line} printed\n{done.stdout}"
        )


def test_there_are_commands_to_run() -> None:
    assert CONSOLES
