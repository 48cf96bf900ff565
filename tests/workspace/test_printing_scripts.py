"""Which scripts of Python and Node are known to print only."""

import os
from pathlib import Path

import pytest

from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.permissions.permission_decision import ShellAction, decide_permission
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.permissions.printing_scripts import files_of_script
from sapwood.workspace.safe_paths import ResolvedPath

RULES = parse_rules(["allow shell(python3 *)", "allow shell(node *)"])
PRINT = (
    "import sys; print(sys.version)",
    "print(2**10, f'{3:>5}')",
    "import json, sys\nfor row in json.load(sys.stdin)['items']:\n    print(row.get('name'))",
    "from collections import Counter; print(Counter('abca').most_common(1))",
    "print(max(['a', 'bc'], key=lambda word: len(word)))",
    "import datetime as d; print(d.date.today().isoformat())",
)
DO_MORE = (
    "import os",
    "import os.path",
    "import json.decoder",
    "__import__('os').system('x')",
    "import sys; sys.modules['os'].system('x')",
    "import sys; print(sys.stdin.buffer)",
    "import sys as s; [s][0].modules",
    "import json; json.codecs.open('x', 'w')",
    "from json import codecs",
    "from . import json",
    "from sys import *",
    "from os import system",
    "print(().__class__)",
    "print('{0.modules}'.format(1))",
    "exec('x')",
    "f = print; f(1)",
    "f = open; f('x')",
    "(lambda: 1)()",
    "[*map(open, ['x'])]",
    "import json as print",
    "import json as j, sys as j; j.modules",
    "import json\njson = 1",
    "from json import load as open; open('x', 'w')",
    "[print for print in [1]]",
    "lambda print: 1",
    "print(open('a', 'w'))",
    "print(open('a', mode='w'))",
    "print(open('a', 'r', opener=print))",
    "print(open(file='a'))",
    "open(*['a'], 'w')",
    "open(chr(47) + 'etc')",
    "open('a=b')",
    "import sys; sys.stdout = 1",
    "del print",
    "class A: pass",
    "while 1: pass",
    "async def f(): pass",
    "print(\0)",
    "print('" + "a" * 1_000 + "')",
    "(" * 900,
)


@pytest.mark.parametrize("script", PRINT)
def test_a_script_that_computes_and_prints_is_covered_by_a_rule_for_python(script: str) -> None:
    assert files_of_script(["python3", "-c", script]) == ()


@pytest.mark.parametrize("script", DO_MORE)
def test_a_script_that_may_do_more_is_not(script: str) -> None:
    assert files_of_script(["python3", "-c", script]) is None


def test_only_the_text_after_the_option_is_a_script() -> None:
    for words in (["-", "print(1)"], ["-x", "print(1)"], ["print(1)"], ["-m", "print(1)"]):
        assert files_of_script(["python3", *words]) is None


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("python3 -c \"print(open('a.json').read())\"", "allow"),
        ("python3 -c \"print(open('/etc/hostname').read())\"", "ask"),
        ("python3 -c \"print(open('../a.json').read())\"", "ask"),
        ("python3 -c \"print(open('.env').read())\"", "ask"),
        ("python3 -c 'print(1)' /etc/hostname", "ask"),
        ("node -p \"require('./package.json').version\"", "allow"),
        ("node -e 'console.log(process.version)'", "allow"),
        ("node -e \"console.log(require('./a.js'))\"", "ask"),
        ("node -e \"console.log(require('./a.json')); process.exit()\"", "ask"),
        ("node -p \"require('./../a.json')\"", "ask"),
    ],
)
def test_a_script_reads_only_files_of_the_workspace(line: str, verdict: str) -> None:
    assert decide_permission(ShellAction("shell", line), RULES).verdict == verdict


def test_a_link_to_a_file_elsewhere_is_seen_in_a_script(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "elsewhere").write_text("x")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    (root / "file").write_text("x")
    place = ResolvedPath(os.path.realpath(root), os.path.realpath(root), ".")
    for name, verdict in (("link", "ask"), ("file", "allow")):
        line = f"python3 -c \"print(open('{name}').read())\""
        astray = PathGuards().words_astray(place, line)
        action = ShellAction("shell", line, astray=astray)
        assert decide_permission(action, RULES).verdict == verdict
