"""Command lines are parsed, and no line breaks the parser."""

from hypothesis import given
from hypothesis import strategies as st

from sapwood.analysis.ledger.operations.simple_commands import simple_commands


def texts(line: str) -> list[tuple[str, ...]]:
    return [command.texts for command in simple_commands(line)]


def test_operators_separate_commands() -> None:
    assert texts("a && b || c; d | e & f\ng") == [(each,) for each in "abcdefg"]


def test_quotes_join_words() -> None:
    assert texts("""git commit -m "a && b" -m 'c; d' e\\ f""") == [
        ("git", "commit", "-m", "a && b", "-m", "c; d", "e f")
    ]


def test_the_commands_of_a_loop_are_found() -> None:
    assert texts("for f in *.py; do rm $f; done") == [("rm", "$f")]


def test_a_here_document_is_no_command() -> None:
    line = "cat > a <<'EOF'\nrm b\nEOF\nls"
    assert texts(line) == [("cat",), ("ls",)]


def test_a_here_document_in_a_substitution_stays_in_its_word() -> None:
    line = "git commit -m \"$(cat <<'EOF'\nAdd x (y)\nEOF\n)\" && ls"
    assert texts(line)[1] == ("ls",)


def test_a_line_that_is_not_understood_is_one_command_that_names_no_file() -> None:
    (command,) = simple_commands('check() { rm "$1"; }; check a.py')
    assert command.texts[0] == "check()"
    assert not any(word.plain for word in command.words)


def test_operators_stand_around_commands() -> None:
    commands = simple_commands("a | b && (c; d) || e &")
    assert [(each.before, each.after, each.depth) for each in commands] == [
        ("", "|", 0),
        ("|", "&&", 0),
        ("&&", ";", 1),
        (";", "", 1),
        ("||", "&", 0),
    ]


def test_errors_that_go_nowhere_are_silent() -> None:
    for line in ("ls x 2>/dev/null", "ls x >/dev/null 2>&1", "ls x &>/dev/null"):
        assert simple_commands(line)[0].silent
    for line in ("ls x >/dev/null", "ls x 2>&1", "ls x 2>errors"):
        assert not simple_commands(line)[0].silent


def test_comments_are_skipped() -> None:
    assert texts("ls # rm x\npwd") == [("ls",), ("pwd",)]


@given(st.text(alphabet="ab '\"$(){}<>|&;\n\\#-=", max_size=60))
def test_any_line_is_parsed_to_its_end(line: str) -> None:
    simple_commands(line)
