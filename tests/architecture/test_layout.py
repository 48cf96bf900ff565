"""The layout tells the truth: names mean something, files say what they are for and travel well."""

import os
import re
from pathlib import Path

import pytest

from tests.source_files import source_files

ROOT = Path(__file__).parents[2]
NAMES_THAT_SAY_NOTHING = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})
GENERATED = frozenset({"__pycache__", "build", "dist", "node_modules"})

# Written in pieces, so that this file does not find itself.
MACHINE_PATHS = ("/home" + "/", "/root" + "/", "/Users" + "/", "/work" + "/", "/opt" + "/")
REGISTRIES = ("files.python" + "hosted.org", "pypi" + ".org/simple", "/simple" + "/")
TRACE = re.compile("|".join(rf"(?<![\w.~-]){re.escape(path)}[\w.]" for path in MACHINE_PATHS))


def repository_files() -> list[Path]:
    """Every file of the repository, with or without git: hidden folders are tools' own, but one."""
    found: list[Path] = []
    for folder, subfolders, files in os.walk(ROOT):
        subfolders[:] = [
            name
            for name in subfolders
            if name == ".ci" or not (name.startswith(".") or name in GENERATED)
        ]
        found += [Path(folder, name) for name in files if name != ".git"]  # a worktree's link
    return sorted(found)


OPENING = re.compile(r'(#.*\n|\s)*r?"""\s*[^"\s]')
"""A docstring, after comments at most; to parse every file would take seconds."""


def python_files() -> list[Path]:
    return [path for path in repository_files() if path.suffix == ".py"]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def traces(text: str) -> list[str]:
    """What in a text only makes sense on the machine, or with the registry, of whoever wrote it."""
    if not any(each in text for each in (*MACHINE_PATHS, *REGISTRIES)):
        return []
    return [
        line.strip()
        for line in text.splitlines()
        if TRACE.search(line) or any(host in line for host in REGISTRIES)
    ]


def test_no_folder_or_module_has_a_name_that_says_nothing() -> None:
    names = {path: {*path.relative_to(ROOT).parts[:-1], path.stem} for path in python_files()}
    assert [relative(path) for path in names if names[path] & NAMES_THAT_SAY_NOTHING] == []


def test_a_module_opens_with_what_it_is_for() -> None:
    sources = [path for path in python_files() if "src" in path.parts]
    without = [
        relative(path) for path in sources if not OPENING.match(path.read_text(encoding="utf-8"))
    ]
    assert sources
    assert without == []


def test_no_file_holds_a_machine_path_or_a_registry_address() -> None:
    found: dict[str, list[str]] = {}
    for path in repository_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # an image or a database has no lines to read
        if lines := traces(text):
            found[relative(path)] = lines
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        f"see {MACHINE_PATHS[0]}ada/project",
        f"python = '{MACHINE_PATHS[1]}.venv/bin/python'",
        f"--index-url https://{REGISTRIES[0]}/packages",
    ],
)
def test_a_trace_of_a_machine_is_found(text: str) -> None:
    assert traces(text) == [text]


@pytest.mark.parametrize("text", ["/usr/lib/postgresql", "src/work/x", "https://a.example/home/"])
def test_other_addresses_pass(text: str) -> None:
    assert traces(text) == []


def test_only_one_function_gives_a_number_its_noun() -> None:
    by_hand = re.compile(r"""(''|"") if [^\n]+ == 1 else ['"]s['"]""")
    files = source_files().items()
    assert [name for name, path in files if by_hand.search(path.read_text("utf-8"))] == []
