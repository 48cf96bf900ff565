"""A ledger is built from the turns of a session."""

import json

import msgspec

from sapwood.analysis.ledger.entries import render_ledger
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.core.content import Note
from tests.analysis.sessions import ToolRun, asked, session


def test_it_lists_files_commands_and_the_last_request() -> None:
    ledger = ledger_of(
        session(
            asked(
                "Add OAuth.",
                ToolRun("Write", '{"file_path": "/srv/shop/oauth.py", "content": "x"}'),
                ToolRun("Bash", '{"command": "pytest"}', "Exit code 1\n1 failed in 1s", error=True),
            ),
            asked("Again."),
        )
    )
    assert [file.path for file in ledger.files.created] == ["oauth.py"]
    assert [(run.command, run.outcome, run.exit_code, run.turn) for run in ledger.commands] == [
        ("pytest", "failed", 1, 1)
    ]
    assert [(run.runner, run.failed) for run in ledger.tests] == [("pytest", 1)]
    assert [left.command for left in ledger.failing] == ["pytest"]
    assert ledger.last_request == "Again."
    assert "Files created: oauth.py" in render_ledger(ledger)


def read_after(name: str, *lines: tuple[str, str]) -> list[str]:
    calls = [ToolRun(name, json.dumps({"command": line}), output) for line, output in lines]
    ledger = ledger_of(session(*(asked("Go on.", call) for call in calls)))
    return [file.path for file in ledger.files.read]


def test_a_shell_that_keeps_its_folder_reads_files_there() -> None:
    went, reads = ("cd app && ls", "x.py"), ("cat x.py", "x = 1")
    assert read_after("Bash", went, reads) == ["app/x.py"]
    assert read_after("shell", went, reads) == ["x.py"]


def test_a_reset_of_the_shell_folder_is_recognized() -> None:
    outside = ("cd /etc && ls", "hosts\nShell cwd was reset to /srv/shop")
    assert read_after("Bash", outside, ("cat x.py", "x = 1")) == ["x.py"]


def test_a_subshell_and_the_background_have_folders_of_their_own() -> None:
    reads = ("cat x.py", "x = 1")
    assert read_after("Bash", ("(cd app && ls)", "x.py"), reads) == ["x.py"]
    started = ("cd app && npm run dev", "Command running in background with ID: b1")
    assert read_after("Bash", started, reads) == ["x.py"]


def test_its_json_has_all_fields() -> None:
    told = msgspec.json.decode(msgspec.json.encode(ledger_of(session())))
    assert told == {
        "files": {"read": [], "created": [], "changed": [], "deleted": []},
        "commands": [],
        "tests": [],
        "failing": [],
        "decisions": [],
        "questions": [],
        "last_request": "",
    }


def test_the_last_poll_decides_about_a_background_command() -> None:
    background = ToolRun("Bash", '{"command": "make"}', "Command running in background with ID: b1")
    look = ToolRun(
        "BashOutput", '{"bash_id": "b1"}', "<status>failed</status><exit_code>2</exit_code>"
    )
    assert [run.outcome for run in ledger_of(session(asked("x", background))).commands] == [
        "unknown"
    ]
    ledger = ledger_of(session(asked("x", background), asked("y", look)))
    assert [(run.outcome, run.exit_code, run.turn) for run in ledger.commands] == [("failed", 2, 1)]


def test_a_refused_command_did_not_run() -> None:
    refused = ToolRun("Bash", '{"command": "rm x"}', "The user doesn't want to proceed", error=True)
    ledger = ledger_of(session(asked("x", refused)))
    assert ledger.commands == ()
    assert ledger.files.deleted == ()


def test_a_patch_is_no_command() -> None:
    patch = "*** Begin Patch\\n*** Delete File: a.py\\n*** End Patch"
    line = f"apply_patch <<'EOF'\\n{patch}\\nEOF"
    ledger = ledger_of(session(asked("x", ToolRun("shell", f'{{"command": "{line}"}}'))))
    assert [file.path for file in ledger.files.deleted] == ["a.py"]
    assert ledger.commands == ()


def test_a_continuation_has_a_number_of_its_own() -> None:
    on = msgspec.structs.replace(
        asked("", ToolRun("Bash", '{"command": "ls"}')), prompt=(Note("program", "goes on"),)
    )
    ledger = ledger_of(
        session(asked("Look."), on, asked("Again.", ToolRun("Bash", '{"command": "w"}')))
    )
    assert [(run.command, run.turn) for run in ledger.commands] == [("ls", 2), ("w", 3)]
