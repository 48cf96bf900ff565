"""Which files a command line touched."""

import pytest

from sapwood.analysis.ledger.operations.call_outcomes import CallOutcome
from sapwood.analysis.ledger.operations.command_effects import effects_of
from sapwood.analysis.ledger.operations.operation import (
    ChangesCommitted,
    FileDeleted,
    FileEdited,
    FileMoved,
    FileRead,
    FileRestored,
    FileWritten,
    Operation,
)
from sapwood.analysis.ledger.operations.simple_commands import simple_commands

OK = CallOutcome("ok", 0)


def effects(line: str, outcome: CallOutcome = OK, folder: str = "") -> list[Operation]:
    return list(effects_of(simple_commands(line), folder, outcome))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rm a.py b.py", [FileDeleted("a.py"), FileDeleted("b.py")]),
        ("rm -rf old", [FileDeleted("old", folder=True)]),
        ("sudo rm -f /etc/x", [FileDeleted("/etc/x")]),
        ("git rm -q a.py", [FileDeleted("a.py")]),
        ("git rm --cached a.py", []),
        ("mv a.py b.py", [FileMoved("a.py", "b.py")]),
        ("git mv a.py src/", [FileMoved("a.py", "src/a.py")]),
        ("mv a b lib", [FileMoved("a", "lib/a"), FileMoved("b", "lib/b")]),
        ("cp a.py b.py", [FileWritten("b.py")]),
        ("cp -r a b", []),
        ("touch new.py", [FileWritten("new.py", "", None, appended=True)]),
        ("echo hi > a.txt", [FileWritten("a.txt", "hi\n")]),
        ("echo hi >> a.txt", [FileWritten("a.txt", "hi\n", None, appended=True)]),
        ("cat > a.txt <<'EOF'\none\ntwo\nEOF", [FileWritten("a.txt", "one\ntwo\n")]),
        ("cat <<EOF > a.txt\none\nEOF\n", [FileWritten("a.txt", "one\n")]),
        ("tee a.txt <<EOF\none\nEOF", [FileWritten("a.txt", "one\n")]),
        ("make 2>&1 | tee -a log.txt", [FileWritten("log.txt", None, None, appended=True)]),
        ("pytest > out.txt 2>&1", [FileWritten("out.txt")]),
        ("pytest >/dev/null 2>err.txt", []),
        ("sed -i 's/a b/c/' x.py y.py", [FileEdited("x.py"), FileEdited("y.py")]),
        ("sed -i '' -e 's/$x/c/' x.py", [FileEdited("x.py")]),
        ("sed -n '1,80p' x.py", [FileRead("x.py")]),
        ("perl -pi -e 's/a/b/' x.py", [FileEdited("x.py")]),
        ("cat x.py | head -5", [FileRead("x.py")]),
        ("head -n 5 x.py", [FileRead("x.py")]),
        ("cat src/*.py $FILE", []),
        ("cd app && rm x.py", [FileDeleted("app/x.py")]),
        ("bash -lc 'rm x.py'", [FileDeleted("x.py")]),
        ("git checkout -- x.py", [FileRestored("x.py")]),
        ("git restore .", [FileRestored("")]),
        ("git reset --hard", [FileRestored("")]),
        ("git add -A && git commit -m x", [ChangesCommitted()]),
        ("curl -o x.zip https://a.example/x.zip", [FileWritten("x.zip")]),
        ("false || rm x.py", []),
        ("grep -rn foo src", []),
    ],
)
def test_what_a_line_does(line: str, expected: list[Operation]) -> None:
    assert effects(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("(cd app && rm x.py); rm y.py", ["app/x.py", "y.py"]),
        ("cd app && (cd lib; rm x.py) && rm y.py", ["app/lib/x.py", "app/y.py"]),
        ("bash -c 'cd app && rm x.py'; rm y.py", ["app/x.py", "y.py"]),
        ("cd app | true; rm x.py", ["x.py"]),
        ("cd app && cd - && rm x.py", ["x.py"]),
        ("cd && rm x.py", ["~/x.py"]),
        ("cd app || exit 1; rm x.py", ["app/x.py"]),
    ],
)
def test_a_folder_change_lasts_to_the_end_of_its_shell(line: str, expected: list[str]) -> None:
    assert effects(line) == [FileDeleted(path) for path in expected]


def test_a_failed_cd_does_not_change_the_folder() -> None:
    output = "bash: line 1: cd: app: No such file or directory"
    assert effects("cd app; rm x.py", CallOutcome("ok", 0, output)) == [FileDeleted("x.py")]


@pytest.mark.parametrize(
    ("line", "output", "is_read"),
    [
        ("cat a.md 2>/dev/null", "hello", True),
        ("cat a.md &>/dev/null && ls", "a.md", True),
        ("cat a.md 2>/dev/null; ls", "b.md", False),
        ("cat a.md > /dev/null 2>&1; ls", "b.md", False),
        ("cat a.md 2>/dev/null | head -5", "hello", True),
        ("cat a.md 2>/dev/null | head -5", "", False),
        ("cat a.md 2>/dev/null | head -5", "(Bash completed with no output)", False),
        ("cd app && cat ../a.md 2>/dev/null | head -5", "hello", True),
        ("cat a.md b.md 2>/dev/null | head -5", "hello", False),
        ("cat a.md 2>/dev/null || echo none", "hello", True),
        ("cat a.md 2>/dev/null || echo none", "none", False),
        ("cat a.md 2>/dev/null || ls", "b.md", False),
        ("cat a.md 2>/dev/null || true", "", False),
        ("bash -c 'cat a.md; ls' 2>/dev/null", "b.md", False),
        ("cat a.md 2>&1; ls", "hello", True),
        ("cat a.md 2>log.txt; ls", "hello", True),
    ],
)
def test_a_silent_read_counts_only_if_it_is_proved(line: str, output: str, is_read: bool) -> None:
    assert (FileRead("a.md") in effects(line, CallOutcome("ok", 0, output))) is is_read


def test_an_inline_script_writes_the_files_that_it_names() -> None:
    line = "python - <<'EOF'\nfrom pathlib import Path\np = Path('a.py')\n"
    line += "p.write_text(p.read_text().replace('x', 'y'))\nopen('b.py', 'w').write('z')\nEOF"
    assert effects(line) == [FileWritten("b.py"), FileWritten("a.py", None, True)]


def test_an_inline_patch_is_applied() -> None:
    line = "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a.py\n*** End Patch\nEOF"
    assert effects(line) == [FileDeleted("a.py")]


def test_only_the_command_that_failed_has_no_effect() -> None:
    failed = CallOutcome("failed", 1, "1 failed")
    assert effects("rm a.py && pytest", failed) == [FileDeleted("a.py")]
    assert effects("cat a.py", failed) == []


def test_a_file_in_an_error_message_was_not_touched() -> None:
    output = "rm: cannot remove 'b.py': No such file or directory"
    assert effects("rm a.py; rm b.py; ls", CallOutcome("ok", 0, output)) == [FileDeleted("a.py")]


def test_paths_are_relative_to_the_folder_of_the_command() -> None:
    assert effects("rm x.py", folder="/srv/app") == [FileDeleted("/srv/app/x.py")]
