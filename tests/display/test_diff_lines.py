"""Every line of a change is shown as what it is, also one that looks like the name of a file."""

import re

import pytest

from sapwood.core.ids import AgentId
from sapwood.display.diff_lines import diff_lines
from sapwood.display.permission_text import approval_lines
from sapwood.programs.codex.contents import patch_of
from sapwood.workspace.permissions.permission_gate import PermissionQuestion
from sapwood_server.page.row_html import diff_html

HEAD = "--- a.sql\n+++ a.sql\n"
COMMENTS = f"{HEAD}@@ -1,2 +1,2 @@\n one\n--- old comment\n+++ counter;"
NO_BREAK = "\\ No newline at end of file"


def kinds(diff: str) -> list[str]:
    return [each.kind for each in diff_lines(diff)]


@pytest.mark.parametrize(
    ("diff", "told"),
    [
        (COMMENTS, "file file hunk text removed added"),
        (f"{HEAD}@@ -1 +1 @@\n--- a\n+++ b", "file file hunk removed added"),
        (f"{HEAD}@@ -1 +0,0 @@\n--- a\n{NO_BREAK}", "file file hunk removed note"),
        (f"{COMMENTS}\n{COMMENTS}", "file file hunk text removed added " * 2),
        (f"a.sql\n{COMMENTS}", "text file file hunk text removed added"),
        ("--- a\n+ b", "removed added"),
        ("-1 -- a\n+1 ++ b", "removed added"),
    ],
)
def test_a_header_stands_before_a_part_and_not_in_it(diff: str, told: str) -> None:
    assert kinds(diff) == told.split()


def test_the_page_shows_and_counts_comments_that_were_changed() -> None:
    added, removed, shown = diff_html(COMMENTS)
    assert (added, removed) == (1, 1)
    assert re.findall(r"<b>(.?)</b><span>(.*?)</span>", shown) == [
        ("", "one"),
        ("−", "-- old comment"),
        ("+", "++ counter;"),
    ]


def test_a_question_shows_comments_as_changed() -> None:
    asked = PermissionQuestion(AgentId("a"), "/w", "edit_file", "a.sql", "", COMMENTS)
    shown = [(each.kind, each.text) for each in approval_lines(asked)]
    assert ("removed", "--- old comment") in shown
    assert ("added", "+++ counter;") in shown
    assert ("place", "--- a.sql") in shown


def test_comments_count_in_a_patch_of_codex() -> None:
    assert patch_of("*** Update File: a.sql\n@@\n--- old\n+++ counter;\n+-- new") == (2, 1)
