"""Rows of the timeline as HTML."""

import re

from sapwood_server.page.row_html import diff_html

NO_BREAK = "\\ No newline at end of file"


def test_the_note_on_a_missing_line_break_is_no_line_of_the_file() -> None:
    diff = f"--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n{NO_BREAK}\n+three\n{NO_BREAK}"
    added, removed, shown = diff_html(diff)
    assert (added, removed) == (1, 1)
    rows = re.findall(r"<i>(\d*)</i><i>(\d*)</i><b>(.?)</b><span>(.*?)</span>", shown)
    note = ("", "", "", NO_BREAK)
    assert rows == [
        ("1", "1", "", "one"),
        ("2", "", "−", "two"),
        note,
        ("", "2", "+", "three"),
        note,
    ]
