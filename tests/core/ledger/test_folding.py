"""A ledger is told by the turns themselves."""

from sapwood.core.ledger import ledger_of, render_ledger
from tests.garden.sessions import Ran, asked, session


def test_it_tells_files_commands_and_the_last_request() -> None:
    ledger = ledger_of(
        session(
            asked(
                "Add OAuth.",
                Ran("Write", '{"file_path": "oauth.py", "content": "x"}'),
                Ran("Bash", '{"command": "pytest"}', "Exit code 1", error=True),
            ),
            asked("Again."),
        )
    )
    assert [file.path for file in ledger.files.created] == ["oauth.py"]
    assert [(run.command, run.outcome, run.turn) for run in ledger.commands] == [
        ("pytest", "failed", 1)
    ]
    assert [left.command for left in ledger.failing] == ["pytest"]
    assert ledger.last_request == "Again."
    assert "Files created: oauth.py" in render_ledger(ledger)
