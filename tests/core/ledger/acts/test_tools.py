"""Tools of every program become the same acts."""

import json

import pytest

from sapwood.core.content import ToolCall
from sapwood.core.ledger.acts.act import Act, Deleted, Edited, Moved, Polled, Ran, Read, Wrote
from sapwood.core.ledger.acts.outcomes import ended
from sapwood.core.ledger.acts.tools import acts_of
from sapwood.core.turn import Result


def acts(name: str, args: object, result: str = "", *, error: bool = False) -> tuple[Act, ...]:
    text = args if isinstance(args, str) else json.dumps(args)
    return acts_of(ToolCall("1", name, text), ended(Result(1, "1", result, error)))


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
    assert acts(name, args, "some text") == (Read("a.py"),)


@pytest.mark.parametrize(
    ("name", "args", "result", "was_there"),
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
def test_writing(name: str, args: object, result: str, was_there: bool | None) -> None:
    assert acts(name, args, result) == (Wrote("a", "x", was_there),)


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
    assert acts(name, args) == (Edited("a", (("x", "y"),)),)


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
    assert acts(name, args) == (Ran(command, folder, keeps=name == "Bash"),)


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
    assert acts(name, args) == (
        Wrote("new.py", "one\ntwo\n", False),
        Edited("old.py", added=2, removed=1),
        Moved("from.py", "to.py"),
        Deleted("gone.py"),
    )


def test_lines_that_the_program_counted_are_kept() -> None:
    call = ToolCall(
        "1", "Edit", json.dumps({"file_path": "a", "old_string": "x", "new_string": ""})
    )
    how = ended(Result(1, "1", "ok", added=2, removed=5))
    assert acts_of(call, how) == (Edited("a", (("x", ""),), added=2, removed=5),)


def test_a_look_at_a_command_in_the_background_names_it() -> None:
    assert acts("BashOutput", {"bash_id": "bash_1"}) == (Polled("bash_1"),)
    assert acts("write_stdin", {"session_id": 42, "chars": ""}) == (Polled("42"),)


def test_what_failed_or_was_refused_changed_nothing() -> None:
    edit = {"file_path": "a", "old_string": "x", "new_string": "y"}
    assert acts("Edit", edit, "String to replace not found in file.", error=True) == ()
    assert acts("Edit", edit, "The user doesn't want to proceed with this tool use.") == ()


@pytest.mark.parametrize("name", ["Grep", "Glob", "TodoWrite", "Task", "update_plan", "WebFetch"])
def test_other_tools_touch_no_file(name: str) -> None:
    assert acts(name, {"path": "src", "pattern": "x"}) == ()


def test_arguments_that_are_not_json_are_passed_over() -> None:
    assert acts("Read", "{") == ()
