"""A handoff contains what another agent has to know."""

from sapwood.analysis.handoff import (
    Handoff,
    HandoffFile,
    handoff_of,
    render_handoff,
)
from tests.analysis.sessions import ToolRun, asked, session

NOW = "2026-01-12T15:30:00Z"
WORK = session(
    asked(
        "Implement OAuth for the mobile app.",
        ToolRun("Write", '{"file_path": "/srv/shop/oauth.py", "content": "a\\nb\\n"}', "ok"),
        ToolRun(
            "Bash",
            '{"command": "pytest -q"}',
            "Exit code 1\n=== 1 failed, 3 passed in 0.10s ===",
            error=True,
        ),
        "One test fails still.",
    )
)


def test_it_names_the_task_for_the_role_and_the_original_request() -> None:
    text = render_handoff(handoff_of(WORK, "reviewer", at=NOW))
    assert text.splitlines()[:2] == [
        "Task: Review: Implement OAuth for the mobile app.",
        'Original request: "Implement OAuth for the mobile app."',
    ]


def test_a_given_task_is_used_unchanged() -> None:
    assert handoff_of(WORK, "smith", at=NOW, task="Forge it.").task == "Forge it."
    assert handoff_of(WORK, "smith", at=NOW).task.startswith("Go on with: Implement OAuth")


def test_it_lists_what_was_done_and_what_still_fails() -> None:
    made = handoff_of(WORK, "reviewer", at=NOW)
    assert any(line.startswith("Created oauth.py") for line in made.done)
    assert any("3 passed, 1 failed" in line for line in made.done)
    assert made.concerns[0].startswith("Fails: pytest -q")
    assert made.last_said == "One test fails still."


def test_files_are_listed_with_their_line_counts() -> None:
    made = handoff_of(WORK, "reviewer", at=NOW, count=lambda path: 247)
    assert "- oauth.py (247 lines, new)" in render_handoff(made)
    gone = handoff_of(WORK, "reviewer", at=NOW)
    assert "- oauth.py (2 lines, new)" in render_handoff(gone)


def test_a_modified_file_shows_added_and_removed_lines() -> None:
    file = HandoffFile("tokens.py", "modified", 89, 45, 12)
    text = render_handoff(Handoff("reviewer", "Review", "", files=(file,)))
    assert "- tokens.py (89 lines, modified +45/-12)" in text


def test_secrets_are_masked() -> None:
    key = "sk-ant-api03-0aB1cD2eF3gH4iJ5kL6mN7"
    made = handoff_of(session(asked(f"Use {key}.", "Yes.")), "reviewer", at=NOW)
    assert key not in render_handoff(made)
