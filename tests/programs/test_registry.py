"""One value says what an agent program is, and everything else reads it."""

import ast
import functools
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from sapwood.programs import registry
from sapwood.programs.program import Program
from sapwood.programs.registry import (
    PROGRAM_NAMES,
    program,
    program_executor,
    program_of_transcript,
    program_title,
    programs_with,
    resume_command_for,
)
from sapwood.programs.transcripts.discovery import discover
from sapwood.programs.transcripts.session_reader import detect_file, read_session
from tests.programs.transcripts.writing import CodexFile

SOURCE = Path(registry.__file__).parents[1]
NEW = "heron"


def facts_of(each: Program) -> set[str]:
    """What no other module may write down; a wire format and a family of models have names too."""
    found = {each.title, each.home_variable, each.home_folder, each.session_variable, each.resume}
    names = {each.name, each.executable} - {"gemini", "claude"}
    return (found | names | {each.install, each.log_in}) - {""}


def files_that_name(each: Program) -> list[str]:
    """The modules outside of a program's folder whose code contains one of its facts."""
    facts = facts_of(each)
    folder = Path(str(program_module(each).__file__)).parent
    return [
        path.relative_to(SOURCE).as_posix()
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.is_relative_to(folder) and any(fact in text_of(path) for fact in facts)
        if facts & strings_in(path)
    ]


def program_module(each: Program) -> ModuleType:
    return importlib.import_module(f"{each.package}.program")


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def strings_in(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(text_of(path)))
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def test_the_facts_of_a_program_are_in_its_folder() -> None:
    found = {name: files_that_name(program(name)) for name in PROGRAM_NAMES}
    in_registry = {name: ["programs/registry.py"] for name in PROGRAM_NAMES}
    assert found == in_registry | {"gemini": []}


@pytest.mark.parametrize("name", PROGRAM_NAMES)
def test_every_part_that_a_program_names_is_there(name: str) -> None:
    each = program(name)
    for part in each.parts:
        module = importlib.import_module(f"{each.package}.{part}")
        assert getattr(module, part.upper()) is not None


def test_a_program_has_only_its_own_parts() -> None:
    with pytest.raises(LookupError, match="Gemini CLI has no part 'installer'"):
        _ = program("gemini").installer
    with pytest.raises(LookupError, match="no program 'heron'"):
        program(NEW)


def test_a_value_imports_no_part_of_its_program_and_no_library() -> None:
    code = (
        "import sys; from sapwood.programs.registry import *; programs_with('sessions'); "
        "print([m for m in sys.modules if m.startswith(('sapwood.programs.', 'msgspec'))])"
    )
    import subprocess

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    folders = [each.package for each in map(program, PROGRAM_NAMES)]
    values = {name for folder in folders for name in (folder, f"{folder}.program")}
    shared = {"sapwood.programs.program", "sapwood.programs.registry"}
    assert set(ast.literal_eval(ran.stdout)) == values | shared


@pytest.fixture
def new_program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    """A program that is known to the registry alone; its modules are those of Codex."""
    value = program("codex")._replace(
        name=NEW,
        title="Heron",
        short_title="Heron",
        executable="heron",
        home_variable="HERON_HOME",
        home_folder=".heron",
        session_variable="HERON_SESSION",
        resume="heron resume",
        transcript_names="heron-.*",
    )
    module = ModuleType("program")
    module.__dict__["PROGRAM"] = value
    monkeypatch.setitem(sys.modules, f"sapwood.programs.{NEW}", ModuleType(NEW))
    monkeypatch.setitem(sys.modules, f"sapwood.programs.{NEW}.program", module)
    monkeypatch.setattr(registry, "PROGRAM_NAMES", (*PROGRAM_NAMES, NEW))
    program.cache_clear()
    yield value
    monkeypatch.undo()
    program.cache_clear()
    for name in ("install", "import_command"):
        importlib.reload(importlib.import_module(f"sapwood.cli.commands.{name}"))


def command_of(module: str, name: str) -> click.Command:
    """The command as a new process has it."""
    loaded = importlib.reload(importlib.import_module(f"sapwood.cli.commands.{module}"))
    command: click.Command = getattr(loaded, name)
    return command


def test_a_new_program_is_its_folder_and_its_name_in_the_registry(
    new_program: Program, tmp_path: Path
) -> None:
    executor = program_executor("heron:grey")
    assert executor is not None
    assert (executor.title, executor.model) == ("Heron", "grey")
    assert resume_command_for(NEW, "5e55") == "heron resume 5e55"
    assert program_of_transcript("/srv/heron-5e55.jsonl") == NEW
    assert program_title(NEW) == "Heron"
    for part in new_program.parts:
        assert new_program in programs_with(part)
    for name in ("install_command", "uninstall_command"):
        choice = command_of("install", name).params[0].type
        assert isinstance(choice, click.Choice)
        assert NEW in choice.choices
    imports = command_of("import_command", "command")
    assert f"--{NEW}" in [option for each in imports.params for option in each.opts]
    CodexFile(tmp_path / "sessions/2026/11/14")
    assert discover({NEW: new_program.home({"HERON_HOME": str(tmp_path)})}) != []


def test_a_session_is_read_by_the_program_that_wrote_it(tmp_path: Path) -> None:
    path = CodexFile(tmp_path).path
    assert read_session(path).source == detect_file(path) == "codex"
