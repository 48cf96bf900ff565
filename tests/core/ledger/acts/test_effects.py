"""Command lines tell which files they touched."""

import pytest

from sapwood.core.ledger.acts.act import (
    Act,
    Committed,
    Deleted,
    Edited,
    Moved,
    Read,
    Restored,
    Wrote,
)
from sapwood.core.ledger.acts.effects import effects_of
from sapwood.core.ledger.acts.outcomes import Ended
from sapwood.core.ledger.acts.shell import simple_commands

OK = Ended("ok", 0)


def effects(line: str, how: Ended = OK, folder: str = "") -> list[Act]:
    return list(effects_of(simple_commands(line), folder, how))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rm a.py b.py", [Deleted("a.py"), Deleted("b.py")]),
        ("rm -rf old", [Deleted("old", folder=True)]),
        ("sudo rm -f /etc/x", [Deleted("/etc/x")]),
        ("git rm -q a.py", [Deleted("a.py")]),
        ("git rm --cached a.py", []),
        ("mv a.py b.py", [Moved("a.py", "b.py")]),
        ("git mv a.py src/", [Moved("a.py", "src/a.py")]),
        ("mv a b lib", [Moved("a", "lib/a"), Moved("b", "lib/b")]),
        ("cp a.py b.py", [Wrote("b.py")]),
        ("cp -r a b", []),
        ("touch new.py", [Wrote("new.py", "", None, appended=True)]),
        ("echo hi > a.txt", [Wrote("a.txt", "hi\n")]),
        ("echo hi >> a.txt", [Wrote("a.txt", "hi\n", None, appended=True)]),
        ("cat > a.txt <<'EOF'\none\ntwo\nEOF", [Wrote("a.txt", "one\ntwo\n")]),
        ("cat <<EOF > a.txt\none\nEOF\n", [Wrote("a.txt", "one\n")]),
        ("tee a.txt <<EOF\none\nEOF", [Wrote("a.txt", "one\n")]),
        ("make 2>&1 | tee -a log.txt", [Wrote("log.txt", None, None, appended=True)]),
        ("pytest > out.txt 2>&1", [Wrote("out.txt")]),
        ("pytest >/dev/null 2>err.txt", []),
        ("sed -i 's/a b/c/' x.py y.py", [Edited("x.py"), Edited("y.py")]),
        ("sed -i '' -e 's/$x/c/' x.py", [Edited("x.py")]),
        ("sed -n '1,80p' x.py", [Read("x.py")]),
        ("perl -pi -e 's/a/b/' x.py", [Edited("x.py")]),
        ("cat x.py | head -5", [Read("x.py")]),
        ("head -n 5 x.py", [Read("x.py")]),
        ("cat src/*.py $FILE", []),
        ("cd app && rm x.py", [Deleted("app/x.py")]),
        ("bash -lc 'rm x.py'", [Deleted("x.py")]),
        ("git checkout -- x.py", [Restored("x.py")]),
        ("git restore .", [Restored("")]),
        ("git reset --hard", [Restored("")]),
        ("git add -A && git commit -m x", [Committed()]),
        ("curl -o x.zip https://a.example/x.zip", [Wrote("x.zip")]),
        ("false || rm x.py", []),
        ("grep -rn foo src", []),
    ],
)
def test_what_a_line_does(line: str, expected: list[Act]) -> None:
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
def test_a_folder_holds_to_the_end_of_its_shell(line: str, expected: list[str]) -> None:
    assert effects(line) == [Deleted(path) for path in expected]


def test_a_folder_that_is_not_there_is_not_entered() -> None:
    output = "bash: line 1: cd: app: No such file or directory"
    assert effects("cd app; rm x.py", Ended("ok", 0, output)) == [Deleted("x.py")]


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
def test_a_file_whose_lack_would_not_be_told_is_read_where_that_is_proved(
    line: str, output: str, is_read: bool
) -> None:
    assert (Read("a.md") in effects(line, Ended("ok", 0, output))) is is_read


def test_a_script_on_the_line_writes_what_it_names() -> None:
    line = "python - <<'EOF'\nfrom pathlib import Path\np = Path('a.py')\n"
    line += "p.write_text(p.read_text().replace('x', 'y'))\nopen('b.py', 'w').write('z')\nEOF"
    assert effects(line) == [Wrote("b.py"), Wrote("a.py", None, True)]


def test_a_patch_on_the_line_is_applied() -> None:
    line = "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a.py\n*** End Patch\nEOF"
    assert effects(line) == [Deleted("a.py")]


def test_what_failed_did_nothing_but_what_came_before_it_did() -> None:
    failed = Ended("failed", 1, "1 failed")
    assert effects("rm a.py && pytest", failed) == [Deleted("a.py")]
    assert effects("cat a.py", failed) == []


def test_a_file_that_was_complained_about_was_not_touched() -> None:
    output = "rm: cannot remove 'b.py': No such file or directory"
    assert effects("rm a.py; rm b.py; ls", Ended("ok", 0, output)) == [Deleted("a.py")]


def test_paths_start_where_the_command_ran() -> None:
    assert effects("rm x.py", folder="/srv/app") == [Deleted("/srv/app/x.py")]
