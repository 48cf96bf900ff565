"""The text of a ledger lists its entries in a few lines."""

from msgspec import structs

from sapwood.analysis.ledger.entries import Question, render_ledger
from sapwood.analysis.ledger.ledger_builder import ledger_of
from tests.analysis.sessions import ToolRun, asked, session

FAILED = "FAILED tests/test_a.py::test_b\n1 failed, 2 passed in 1s"


def test_it_lists_everything_once() -> None:
    ledger = ledger_of(
        session(
            asked(
                "Let's use PKCE. I'll ask Lena about the providers.",
                ToolRun("Read", '{"file_path": "app.py"}', "x"),
                ToolRun("Edit", '{"file_path": "app.py", "old_string": "x", "new_string": "y"}'),
                ToolRun("Write", '{"file_path": "a.py", "content": "x"}', "File created"),
                ToolRun("Bash", '{"command": "rm old.py"}'),
                ToolRun("Bash", '{"command": "pytest"}', f"Exit code 1\n{FAILED}", error=True),
                "Done.",
            )
        )
    )
    open_question = Question("I'll ask Lena about the providers.", 1, "user")
    whole = structs.replace(ledger, questions=(open_question,))
    assert render_ledger(whole).splitlines() == [
        "Files created: a.py",
        "Files changed: app.py",
        "Files deleted: old.py",
        "Commands: rm old.py",
        "Tests: pytest (2 passed, 1 failed)",
        "Still failing: pytest: tests/test_a.py::test_b",
        "Decisions: Let's use PKCE.",
        "Open questions: I'll ask Lena about the providers.",
    ]


def test_an_empty_ledger_has_no_text() -> None:
    assert render_ledger(ledger_of(session(asked("Hello.", "Hi.")))) == ""


def test_the_newest_are_kept_when_there_are_many() -> None:
    many = [
        ToolRun("Write", f'{{"file_path": "f{n}.py", "content": ""}}', "File created")
        for n in range(50)
    ]
    told = render_ledger(ledger_of(session(asked("Write.", *many))))
    assert told.startswith("Files created: … 10 earlier, f10.py")
    assert told.endswith("f49.py")
