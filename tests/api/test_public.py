"""The public face is what `sapwood.__all__` says, each name explained and shown."""

import doctest
import inspect
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import sapwood

PUBLIC = (
    "Actor Agent AgentNotFound AgentSummary ArchivedConversation Block Budget ContextDiff Count "
    "Cursor Delta "
    "DriveLimits Erasure EventRef File Hold LogError Message Note Outcome Prompted "
    "Recorded RecordedReply RecordedResult RefusedError Replayed Request Result Runtime Sapwood "
    "SapwoodError SearchHit Settings State SyncAgent SyncSapwood SyncTurnRecorder SyncTurnStream "
    "TailedEvent Text Thinking ToolCall ToolContext ToolError ToolResult TurnError TurnParams "
    "TurnRecorder TurnResult TurnStream UnreadMail Usage Where open open_sync runtime show tool"
).split()

UNCOMPILED = "PYTHONDONTWRITEBYTECODE"
HEAVY = "asyncio asyncpg sqlite3 msgspec splintr typing json re dataclasses".split()


def test_the_list_of_public_names_changes_on_purpose() -> None:
    assert sapwood.__all__ == PUBLIC
    assert dir(sapwood) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring_and_an_example(name: str) -> None:
    thing = getattr(sapwood, name)
    doc = inspect.getdoc(thing) or ""
    assert doc.strip()
    assert doctest.DocTestParser().get_examples(doc)


@pytest.mark.parametrize("name", ["Agent", "Sapwood", "SyncAgent", "SyncSapwood", "TurnRecorder"])
def test_every_public_method_has_a_docstring(name: str) -> None:
    methods = inspect.getmembers(getattr(sapwood, name), callable)
    missing = [key for key, it in methods if key[0] != "_" and not inspect.getdoc(it)]
    assert missing == []


def test_an_example_is_run_because_its_module_is_collected() -> None:
    source = Path(sapwood.__file__).parent
    things = [inspect.unwrap(getattr(sapwood, name)) for name in PUBLIC]
    homes = {inspect.getsourcefile(thing) for thing in things}
    assert all(home and Path(home).is_relative_to(source) for home in homes)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert sapwood.__version__ == version("sapwood")


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'sapwood' has no attribute 'Tree'"):
        getattr(sapwood, "Tree")  # noqa: B009 - the name is for the interpreter alone


def test_importing_sapwood_imports_nothing_heavy() -> None:
    script = (
        "import sys; before = set(sys.modules); import sapwood; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    imported = done.stdout.split()
    assert "sapwood" in imported
    assert [name for name in imported if name.split(".")[0] in HEAVY] == []


def test_importing_sapwood_costs_next_to_nothing() -> None:
    """In processor time, with compiled modules, and as a ratio: machines are noisy."""
    _seconds("import sapwood")
    ratios: list[float] = []
    while len(ratios) < 3 and (not ratios or min(ratios) > 1.5):
        pairs = [(_seconds("pass"), _seconds("import sapwood")) for _ in range(9)]
        bare, with_sapwood = (min(times) for times in zip(*pairs, strict=True))
        ratios.append(with_sapwood / bare)
    assert min(ratios) <= 1.5


def _seconds(script: str) -> float:
    program = (
        "import resource, subprocess, sys;"
        "subprocess.run([sys.executable, '-c', sys.argv[1]], check=True);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(used.ru_utime + used.ru_stime)"
    )
    command = [sys.executable, "-c", program, script]
    compiled = {key: value for key, value in os.environ.items() if key != UNCOMPILED}
    done = subprocess.run(command, env=compiled, check=True, capture_output=True, text=True)
    return float(done.stdout)
