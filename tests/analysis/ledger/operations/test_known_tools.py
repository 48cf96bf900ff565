"""The tools of all programs become the same operations."""

import json

import pytest

from sapwood.analysis.ledger.operations.call_outcomes import call_outcome
from sapwood.analysis.ledger.operations.known_tools import operations_of
from sapwood.analysis.ledger.operations.operation import (
    BackgroundPolled,
    CommandLineRan,
    FileDeleted,
    FileEdited,
    FileMoved,
    FileRead,
    FileWritten,
    Operation,
)
from sapwood.core.content import ToolCall
from sapwood.core.turn import Result


def operations(
    name: str, args: object, result: str = "", *, error: bool = False
) -> tuple[Operation, ...]:
    text = args if isinstance(args, str) else json.dumps(args)
    return operations_of(ToolCall("1", name, text), call_outcome(Result(1, "1", result, error)))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("Read", {"file_path": "a.py"}),
        ("read_file", {"path": "a.py"}),
        ("read_file", {"absolute_path": "a.py"}),
        ("NotebookRead", {"notebook_path": "a.py"}),
        ("mcp__filesystem__read_text_file", {"path": "a.py"}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a.py"}),
        ("read_many_files", {"paths": ["a.py", "src/**/*.py"]}),
    ],
)
def test_reading(name: str, args: dict[str, object]) -> None:
    assert operations(name, args, "some text") == (FileRead("a.py"),)


@pytest.mark.parametrize(
    ("name", "args", "result", "existed"),
    [
        ("Write", {"file_path": "a", "content": "x"}, "File created successfully at: a", False),
        ("Write", {"file_path": "a", "content": "x"}, "The file a has been updated.", True),
        ("write_file", {"path": "a", "content": "x"}, "Created a: 1 line, 1 byte.", False),
        ("write_file", {"path": "a", "content": "x"}, "Replaced a: 1 line, 1 byte.", True),
        (
            "write_file",
            {"file_path": "a", "content": "x"},
            "Successfully created and wrote to new file: a.",
            False,
        ),
        ("write_file", {"file_path": "a", "content": "x"}, "Successfully overwrote file: a.", True),
        ("create_file", {"path": "a", "content": "x"}, "done", None),
    ],
)
def test_writing(name: str, args: object, result: str, existed: bool | None) -> None:
    assert operations(name, args, result) == (FileWritten("a", "x", existed),)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("edit_file", {"path": "a", "old_text": "x", "new_text": "y"}),
    ],
)
def test_editing(name: str, args: object) -> None:
    assert operations(name, args) == (FileEdited("a", (("x", "y"),)),)


@pytest.mark.parametrize(
    ("name", "args", "command", "folder"),
    [
        ("Bash", {"command": "ls"}, "ls", ""),
        ("shell", {"command": ["bash", "-lc", "ls -l"], "workdir": "/srv"}, "ls -l", "/srv"),
        ("shell", {"command": ["git", "commit", "-m", "a b"]}, "git commit -m 'a b'", ""),
        ("shell", {"command": "ls", "cwd": "app"}, "ls", "app"),
        ("exec_command", {"cmd": "ls"}, "ls", ""),
        ("local_shell_call", {"action": {"type": "exec", "command": ["ls", "-l"]}}, "ls -l", ""),
        ("run_shell_command", {"command": "ls", "directory": "app"}, "ls", "app"),
    ],
)
def test_running(name: str, args: object, command: str, folder: str) -> None:
    assert operations(name, args) == (CommandLineRan(command, folder, keeps_folder=name == "Bash"),)


PATCH = """*** Begin Patch
*** Add File: new.py
+one
+two
*** Update File: old.py
@@
-a
+b
+c
*** Update File: from.py
*** Move to: to.py
@@
 same
*** Delete File: gone.py
*** End Patch
"""


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("apply_patch", PATCH),
        ("apply_patch", {"input": PATCH}),
        ("shell", {"command": ["apply_patch", PATCH]}),
    ],
)
def test_patching(name: str, args: object) -> None:
    assert operations(name, args) == (
        FileWritten("new.py", "one\ntwo\n", False),
        FileEdited("old.py", added=2, removed=1),
        FileMoved("from.py", "to.py"),
        FileDeleted("gone.py"),
    )


def test_line_counts_of_the_program_are_kept() -> None:
    call = ToolCall(
        "1", "Edit", json.dumps({"file_path": "a", "old_string": "x", "new_string": ""})
    )
    how = call_outcome(Result(1, "1", "ok", added=2, removed=5))
    assert operations_of(call, how) == (FileEdited("a", (("x", ""),), added=2, removed=5),)


def test_a_poll_names_the_background_command() -> None:
    assert operations("BashOutput", {"bash_id": "bash_1"}) == (BackgroundPolled("bash_1"),)
    assert operations("write_stdin", {"session_id": 42, "chars": ""}) == (BackgroundPolled("42"),)


def test_what_failed_or_was_refused_changed_nothing() -> None:
    edit = {"file_path": "a", "old_string": "x", "new_string": "y"}
    assert operations("Edit", edit, "String to replace not found in file.", error=True) == ()
    assert operations("Edit", edit, "The user doesn't want to proceed with this tool use.") == ()


@pytest.mark.parametrize("name", ["Grep", "Glob", "TodoWrite", "Task", "update_plan", "WebFetch"])
def test_other_tools_touch_no_file(name: str) -> None:
    assert operations(name, {"path": "src", "pattern": "x"}) == ()


def test_arguments_that_are_not_json_are_ignored() -> None:
    assert operations("Read", "{") == ()
