"""The commands of a command line are all found, or the line is not understood. Bash judges."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.workspace.permissions.printed_values import ANY_WORDS, NOT_KNOWN
from sapwood.workspace.permissions.shell_commands import SimpleCommand, simple_commands

HANDLER = """
command_not_found_handle() {
    printf '%s\\0' "$@" $'\\1' >> "$TRACE"
    echo 'b -x $(rm) *'
}
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
        "for a in $(git) *; do ",
        "while read a; do ",
        "; done",
        "$a",
        '"$a"',
        "a=rm",
        "${a%x}",
        "$((1 + 2))",
        "case a in a) ",
        ";; esac",
        "[[ a == ",
        " ]]",
        "(( 1 ))",
        "{a,b}",
        "{1..3}",
        "<<E\n",
        "<<'E'\n",
        "\nE\n",
        "<<< ",
        "> a",
        "{ ",
        "; }",
        "! ",
        "# ",
        '"$(',
        ')"',
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
        ("a # b", ["a"]),
        ("a #'\nb #'", ["a", "b"]),
        ("a $(b)", ["b", "a '\2'"]),
        ('a "x$(b)" `c`', ["b", "c", "a 'x\0' '\2'"]),
        ("diff <(a) b", ["a", "diff /dev/stdin b"]),
        ("(a; b) | c", ["a", "b", "c"]),
        ("{ a; } && ! b", ["a", "b"]),
        ("for x in b c; do a $x; done", ["a b", "a c"]),
        ('for x in *.py; do a "$x"; done', ["a '*.py'"]),
        ('x=b; a "$x" ${x}', [":", "a b b"]),
        ('for x in $(a); do b "$x"; done', ["a", "b '\0'"]),
        (
            'git ls-files | while read -r x; do a "$x"; done',
            ["git ls-files", "read -r x", "a '\1'", "a ''"],
        ),
        ("case $(a) in b) c;; d|e) f;; esac", ["a", "c", "f"]),
        ("[[ $(a) == b* ]] && c", ["a", ":", "c"]),
        ("a $? $((1 + 2))", ["a '\3' '\3'"]),
        ("find b -exec a {} +", ["find b -exec a '{}' +", "a 'b/\1'"]),
        ("a <<'E'\n$(b)\nE\nc", ["a", "c"]),
        ("a <<E; d\n$(b)\nE\nc", ["b", "a", "d", "c"]),
        ("a <<< $(b)", ["b", "a"]),
        ("a {b,c}", ["a b c"]),
        ('a "${PWD}/b" "$HOME"', ["a ./b '\0'"]),
        ("a $'b\\tc'", ["a 'b\tc'"]),
        ("for x in ''; do a; done", ["a"]),
        ("x='b c'; a $x", [":", "a b c"]),
        ("find b -print0 | xargs -0 a", ["find b -print0", "xargs -0 a", "a 'b/\1'"]),
        ("b | xargs a", ["b", "xargs a", "a '\2'"]),
        ("x=1", [":"]),
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
        "> b",
        "$((a)|(b))",
        "a $\\\n(b)",
        "x=$(a); b $((x))",
        "a $((x[0]))",
        "[[ -v x ]] && a",
        "read x; [[ $x -eq 1 ]] && a",
        "PATH=b; a",
        "read PATH; a",
        "for PATH in b; do a; done",
        "x=b; export x; a $x",
        "let 'x[$(a)]'; b",
        "a > >(b)",
        "a 12> b",
        "a <<E\nb\\\nE\nE",
        "a <<E",
        "a <<E 'x\n'\nE",
        "${x@P}",
        "a ${!x}",
        "a ${x:=$(b)}",
        "a ${x[0]}",
        "x=(a b)",
        "a $1",
        "a $@",
        "select x in a; do b; done",
        "$x",
        "a $x",
        "a ${x}",
        "a 3< b",
        "< b",
        "a() { b; }",
        "if a; then $b; fi",
        "for x; do b; done",
        "echo $TOKEN",
        "x=1 a",
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
        "r?",
        "~/a",
        "a\rb",
        "a\x00b",
        "a\xa0b",
        "$'a\\x62'",
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
    (folder / "work").mkdir()
    (folder / "work" / "q1").touch()
    return folder


def tried_by_bash(line: str, folder: Path) -> set[tuple[str, ...]]:
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
        cwd=folder / "work",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        check=False,
    )
    records = trace.read_bytes().split(b"\1\0")[:-1]
    return {tuple(os.fsdecode(word) for word in r.split(b"\0")[:-1]) for r in records}


def is_told(words: tuple[str, ...], told: tuple[SimpleCommand, ...]) -> bool:
    """Whether a command that bash tried is one of those that were found."""
    line = "\0".join(words) + "\0"
    return any(re.fullmatch(expression(each), line, re.DOTALL) for each in told)


def expression(command: SimpleCommand) -> str:
    """What the words of a command can be; words end with a null character."""
    found = ""
    for place, word in enumerate(command.words):
        if word == ANY_WORDS:
            found += "(?:[^\0]*\0)*"
            continue
        text = re.escape(word)
        for mark in NOT_KNOWN:
            text = text.replace(re.escape(mark), "[^\0]*")
        text = text.replace("\\~", "[^\0]*")  # a home folder
        text = text.replace("/dev/stdin", r"(?:/dev/stdin|/dev/fd/\d+)")
        if place in command.patterns:
            text = f"(?:{text}\0|(?:{text.replace(re.escape('*'), '[^/]*')}\0)*)"
            found += text.replace(re.escape("?"), ".")
            continue
        found += f"{text}\0"
    return found


def require_told(line: str, folder: Path) -> None:
    told = simple_commands(line)
    if told is not None:
        for words in tried_by_bash(line, folder):
            assert is_told(words, told), (line, words, told)


@given(st.lists(st.one_of(PLAIN, PLAIN, PLAIN, PIECES), min_size=1, max_size=10).map("".join))
@example("git 2>&1 rm")
@example("git\\\nrm")
@example("git>/dev/null rm")
@example("'git'\"rm\" a")
@example("git &>/dev/null rm")
@example("git 1>&2 2")
def test_bash_runs_nothing_that_was_not_told(bash: Path, line: str) -> None:
    require_told(line, bash)


WORDS = st.sampled_from(
    [
        "a",
        "b c",
        "'x y'",
        "$x",
        '"$x"',
        '"$y/z"',
        "*",
        "q*",
        "{a,b}",
        "$((1+2))",
        '"${x%a}"',
        "\\;",
        "''",
    ]
)


def scripts(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Scripts that contain these scripts."""
    word = st.one_of(
        WORDS,
        inner.map(lambda s: f"$({s})"),
        inner.map(lambda s: f'"$({s})"'),
        inner.map(lambda s: f"<({s})"),
    )
    return st.one_of(
        st.tuples(st.sampled_from(["git", "rm", "git -x"]), word, word).map(" ".join),
        st.tuples(inner, st.sampled_from(["; ", " && ", " || ", " | ", " & ", "\n"]), inner).map(
            "".join
        ),
        inner.map(lambda s: f"( {s} )"),
        inner.map(lambda s: f"{{ {s}\n}}"),
        inner.map(lambda s: f"! {s}"),
        st.tuples(word, inner).map(lambda p: f"for x in {p[0]} w; do {p[1]}\ndone"),
        st.tuples(inner, inner).map(lambda p: f"if {p[0]}\nthen {p[1]}\nelse git\nfi"),
        st.tuples(inner, inner).map(lambda p: f"{p[0]} | while read -r x; do {p[1]}\ndone"),
        st.tuples(word, inner).map(lambda p: f"case {p[0]} in a) {p[1]};; *) {p[1]}\nesac"),
        st.tuples(word, inner).map(lambda p: f"[[ {p[0]} == a* ]] || {p[1]}"),
        st.tuples(word, inner).map(lambda p: f"x={p[0]}; {p[1]}"),
        st.tuples(word, inner).map(lambda p: f"y={p[0]}\n{p[1]}"),
        st.tuples(inner, inner).map(lambda p: f"rm a <<E\nz $({p[0]}) $x\nE\n{p[1]}"),
        inner.map(lambda s: f"rm a <<'E' # {s}\n{s}\nE\n{s}"),
    )


@given(
    st.recursive(st.sampled_from(["git", "rm $x", 'git "$y"', "git > o"]), scripts, max_leaves=6)
)
def test_bash_runs_nothing_else_in_nested_commands(bash: Path, script: str) -> None:
    require_told(f"x=v; y=w\n{script}", bash)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    line = shlex.join(words)
    told = texts(line)
    assert told is None or told == (line,)
