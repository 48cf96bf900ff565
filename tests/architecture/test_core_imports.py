"""The core is pure: it imports nothing that could read a clock, a file, a network or a die."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "src" / "sapwood" / "core"

# Adding a name here is a decision: can anything in that module act on, or learn from, the world?
ALLOWED = frozenset(
    {
        "__future__",
        "abc",
        "base64",
        "binascii",
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "datetime",
        "difflib",
        "enum",
        "functools",
        "hashlib",
        "heapq",
        "itertools",
        "json",
        "math",
        "msgspec",
        "operator",
        "re",
        "string",
        "struct",
        "textwrap",
        "types",
        "typing",
        "unicodedata",
    }
)
# What an allowed module, or the language itself, still offers of the world.
FORBIDDEN_CALLS = frozenset(
    {
        "__import__",
        "breakpoint",
        "date.today",
        "datetime.now",
        "datetime.today",
        "datetime.utcnow",
        "hashlib.file_digest",
        "eval",
        "exec",
        "id",
        "input",
        "json.dump",
        "json.load",
        "open",
        "print",
    }
)


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(level=0, module=str(module)):
                yield module
            case ast.ImportFrom(level=level):
                yield "sapwood.core" if level == 1 else "a parent package, by dots"
            case _:
                pass


def calls(tree: ast.AST) -> Iterator[str]:
    """What is called, as its last two names: `datetime.datetime.now()` is `datetime.now`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ".".join(ast.unparse(node.func).split(".")[-2:])


def allowed(module: str) -> bool:
    top = module.partition(".")[0]
    return top in ALLOWED or f"{module}.".startswith("sapwood.core.")


def impurities(source: str) -> list[str]:
    tree = ast.parse(source)
    imported = [f"imports {module}" for module in imports(tree) if not allowed(module)]
    called = [f"calls {name}" for name in calls(tree) if name in FORBIDDEN_CALLS]
    return imported + called


@pytest.mark.parametrize("module", sorted(str(p.relative_to(CORE)) for p in CORE.rglob("*.py")))
def test_a_core_module_touches_nothing_outside(module: str) -> None:
    assert impurities((CORE / module).read_text(encoding="utf-8")) == []


def test_the_core_was_found() -> None:
    assert (CORE / "__init__.py").exists()


@pytest.mark.parametrize(
    ("source", "impurity"),
    [
        ("import os", "imports os"),
        ("import os.path as p", "imports os.path"),
        ("from time import monotonic", "imports time"),
        ("def f():\n    import random", "imports random"),
        ("from sapwood.store import memory", "imports sapwood.store"),
        ("from sapwood import core", "imports sapwood"),
        ("from .. import store", "imports a parent package, by dots"),
        ("import datetime\ndatetime.datetime.now()", "calls datetime.now"),
        ("from datetime import datetime\ndatetime.now(None)", "calls datetime.now"),
        ("open('x')", "calls open"),
    ],
)
def test_an_impurity_is_found(source: str, impurity: str) -> None:
    assert impurities(source) == [impurity]


@pytest.mark.parametrize(
    "source",
    [
        "from dataclasses import dataclass",
        "from collections.abc import Iterator",
        "import msgspec.json",
        "from sapwood.core.events import Event",
        "from . import events",
        "class Door:\n    def open(self): ...\nDoor().open()",
    ],
)
def test_pure_code_passes(source: str) -> None:
    assert impurities(source) == []


def test_the_allow_list_names_modules_that_exist() -> None:
    assert ALLOWED - {"msgspec"} <= sys.stdlib_module_names | {"__future__"}
