"""A change of a file as HTML: each line with its numbers in the old and in the new file."""

import re

from sapwood_server.page.html_text import line, text

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_MOST = 600


def diff_html(diff: str) -> tuple[int, int, str]:
    """The numbers of added and removed lines, and the lines; empty if there is no change."""
    if not diff.strip():
        return 0, 0, ""
    added = removed = 0
    old = new = 0
    rows: list[str] = []
    for each in diff.split("\n"):
        if found := _HUNK.match(each):
            old, new = int(found[1]), int(found[2])
            rows.append(f'<div class="hunk">{line(each)}</div>')
        elif each.startswith(("--- ", "+++ ")) or not each:
            continue
        elif each.startswith("+"):
            added += 1
            rows.append(_line("add", "", str(new or ""), "+", each[1:]))
            new += 1 if new else 0
        elif each.startswith("-"):
            removed += 1
            rows.append(_line("del", str(old or ""), "", "−", each[1:]))
            old += 1 if old else 0
        else:
            rows.append(_line("", str(old or ""), str(new or ""), "", each[1:]))
            old, new = old + bool(old), new + bool(new)
    more = len(rows) - _MOST
    if more > 0:
        rows = [*rows[:_MOST], f'<div class="hunk">… {more:,} more lines</div>']
    return added, removed, f'<div class="code">{"".join(rows)}</div>'


def _line(kind: str, old: str, new: str, sign: str, words: str) -> str:
    return (
        f'<div class="ln {kind}"><i>{old}</i><i>{new}</i><b>{sign}</b>'
        f"<span>{text(words)}</span></div>"
    )
