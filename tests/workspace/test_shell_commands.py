"""The commands of a command line are all found, or the line is not understood. Bash judges."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.workspace.permissions.shell_commands import simple_commands

HANDLER = """
command_not_found_handle() { printf '%s\\0' "$@" $'\\1' >> "$TRACE"; }
"""
PLAIN = st.sampled_from(
    [
        "git",
        "rm",
        "a",
        "2",
        " ",
        " ",
        " ",
        "\n",
        ";",
        "&",
        "&&",
        "|",
        "||",
        "'",
        "'",
        '"',
        '"',
        "\\",
        "2>&1",
        ">/dev/null",
        "&>/dev/null",
        "\\\n",
        "'a b'",
        "$",
        "#",
        "=",
    ]
)
PIECES = st.sampled_from(
    [
        "git",
        "rm",
        "a",
        "1",
        "2",
        "-x",
        " ",
        " ",
        " ",
        "\t",
        "\n",
        ";",
        "&",
        "&&",
        "|",
        "||",
        "|&",
        "'",
        '"',
        "\\",
        "$",
        "$(",
        "`",
        "(",
        ")",
        "{",
        "}",
        ",",
        "#",
        "<",
        ">",
        ">>",
        "2>&1",
        ">&2",
        ">/dev/null",
        "&>/dev/null",
        "</dev/null",
        "<<",
        "<(",
        "=",
        "~",
        "*",
        "?",
        "[",
        "]",
        "!",
        "if",
        "then",
        "fi",
        "do",
        "time",
        "$x",
        "${x}",
        "$'a'",
        "\\\n",
        "\r",
        "\xa0",
        "a=b",
        "CI=1 ",
        "time ",
        "[ ",
        "<a",
        "for a in b; do ",
        "; done",
        "; then ",
        "; fi",
        "'a b'",
    ]
)


def texts(line: str) -> tuple[str, ...] | None:
    commands = simple_commands(line)
    return None if commands is None else tuple(each.text for each in commands)


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("git status", ["git status"]),
        ("  git   status  ", ["git status"]),
        ("git add . && git commit -m 'a; b'", ["git add .", "git commit -m 'a; b'"]),
        ("a; b | c || d & e\nf", ["a", "b", "c", "d", "e", "f"]),
        ("a &&\n\n b;", ["a", "b"]),
        ('echo "a b" c\\ d', ["echo 'a b' 'c d'"]),
        ("ma\\\nke all", ["make all"]),
        ("make 2>&1 >/dev/null | tail -5", ["make", "tail -5"]),
        ("make &> /dev/null", ["make"]),
        ("ls *.py", ["ls '*.py'"]),
        ("'git status'", ["'git status'"]),
        ("tr a b < c | d", ["tr a b", "d"]),
        ("time a b", ["a b"]),
        ("if a; then b; else c; fi", ["a", "b", "c"]),
        ("while a; do b; done", ["a", "b"]),
        ("for x in a *.py; do b; done", ["b"]),
        ('a; echo $? "in $PWD"', ["a", "echo '$?' 'in $PWD'"]),
        ("CI=1 a b", ["a b"]),
        ("[ -f a ] && b", ["'[' -f a ']'", "b"]),
        ("grep '$(rm)' a", ["grep '$(rm)' a"]),
    ],
)
def test_a_plain_line_is_taken_apart(line: str, commands: list[str]) -> None:
    assert texts(line) == tuple(commands)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "  ",
        "#x",
        "a # b",
        "$x",
        "a $x",
        "a ${x}",
        "a $(b)",
        "a `b`",
        'a "$(b)"',
        'a "`b`"',
        "a > b",
        "a >> b",
        "a 3< b",
        "a < ~/b",
        "a < /b",
        "< b",
        "a 2> b",
        "a &> b",
        "a <<E\nb\nE",
        "a <<< b",
        "diff <(a) b",
        "(a)",
        "{ a; }",
        "a() { b; }",
        "if a; then $b; fi",
        "for x in a; do b $x; done",
        "for x in $(a); do b; done",
        "for x; do b; done",
        "case a in a) b;; esac",
        "echo $TOKEN",
        'echo "${PWD}"',
        "a $?",
        "! a",
        "[[ a ]]",
        "x=1",
        "x=1 a",
        "x+=1",
        "time -p a",
        "time",
        "time; a",
        "time | a",
        "a &&",
        "a |",
        "; a",
        "a;; b",
        "'a",
        '"a',
        "a\\",
        "a {b,c}",
        "r?",
        "~/a",
        "a\rb",
        "a\x00b",
        "a\xa0b",
        "$'a'",
        "CI=$x a",
        "CI=1",
        "CI=1; a",
        "LD_PRELOAD=x a",
        "a 2>&1x",
        "a >&b",
        "coproc a",
    ],
)
def test_what_is_not_plain_is_not_guessed(line: str) -> None:
    assert simple_commands(line) is None


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for bash to run in, with nothing on its path and a trace of what it tried."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed; what it would run cannot be compared")
    folder = tmp_path_factory.mktemp("bash")
    (folder / "handler").write_text(HANDLER)
    return folder


def tried_by_bash(line: str, folder: Path) -> set[str]:
    trace = folder / "trace"
    trace.write_bytes(b"")
    environment = {
        "PATH": "/nonexistent",
        "BASH_ENV": str(folder / "handler"),
        "TRACE": str(trace),
        "LC_ALL": "C.UTF-8",
    }
    bash = shutil.which("bash")
    assert bash
    subprocess.run(
        [bash, "-c", line],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        check=False,
    )
    records = trace.read_bytes().split(b"\1\0")[:-1]
    return {shlex.join(os.fsdecode(word) for word in r.split(b"\0")[:-1]) for r in records}


@given(st.lists(st.one_of(PLAIN, PLAIN, PLAIN, PIECES), min_size=1, max_size=10).map("".join))
@example("git 2>&1 rm")
@example("git\\\nrm")
@example("git>/dev/null rm")
@example("'git'\"rm\" a")
@example("git &>/dev/null rm")
@example("git 1>&2 2")
def test_bash_runs_nothing_that_was_not_told(bash: Path, line: str) -> None:
    told = texts(line)
    if told is not None:
        assert tried_by_bash(line, bash) <= set(told)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    line = shlex.join(words)
    told = texts(line)
    assert told is None or told == (line,)
