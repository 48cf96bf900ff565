"""What an examination found, with what to type next."""

from collections.abc import Sequence

import click

from sapwood.app.checking import Finding
from sapwood.display.text import wrapped

__all__ = ["finding_lines"]

_SIGNS = {"ok": ("ok", "green"), "open": ("--", "yellow"), "broken": ("NO", "red")}
_ROOMY = 60


def finding_lines(findings: Sequence[Finding], width: int) -> list[str]:
    """Each finding with its sign; below it, what would mend it."""
    lines: list[str] = []
    topics = max(len(finding.topic) for finding in findings) if width >= _ROOMY else 0
    for finding in findings:
        sign, colour = _SIGNS[finding.state]
        head = f"{finding.topic:<{topics}}  "
        indent = " " * (4 + len(head)) if width >= _ROOMY else "     "
        told = wrapped(finding.says, width, indent)
        first = told[0].lstrip() if width >= _ROOMY else ""
        lines.append(f"{click.style(sign, fg=colour)}  {head}{first}".rstrip())
        lines += told[1:] if width >= _ROOMY else told
        lines += wrapped(f"→ {finding.then}", width, indent) if finding.then else []
    return lines
