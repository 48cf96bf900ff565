"""The journal and the findings of the doctor as lines."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from sapwood.cli.output_gate import styled
from sapwood.display.text import wrapped
from sapwood.doctor.checks import Finding
from sapwood.journal import JournalEntry


def journal_lines(entries: Iterable[JournalEntry], width: int) -> list[str]:
    """Returns each entry with its time, its session and its message; below it, its file."""
    lines: list[str] = []
    for entry in entries:
        where = " · ".join(filter(None, (entry.source, entry.session[:8], Path(entry.folder).name)))
        kind = styled(entry.kind, fg="red" if entry.kind == "failed" else None, bold=True)
        lines.append(f"{_clock(entry.at)}  {kind}" + (f"  {where}" if where else ""))
        lines += wrapped(entry.message, width, "  ")
        lines += [f"  {entry.path}"] if entry.path else []
    return lines


def _clock(at: str) -> str:
    try:
        return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return at


_SIGNS = {"ok": ("ok", "green"), "open": ("--", "yellow"), "broken": ("NO", "red")}
_ROOMY = 60


def finding_lines(findings: Sequence[Finding], width: int) -> list[str]:
    """Returns each finding with its sign; below it, the next step."""
    lines: list[str] = []
    topics = max(len(finding.topic) for finding in findings) if width >= _ROOMY else 0
    for finding in findings:
        sign, colour = _SIGNS[finding.state]
        head = f"{finding.topic:<{topics}}  "
        indent = " " * (4 + len(head)) if width >= _ROOMY else "     "
        message = wrapped(finding.message, width, indent)
        first = message[0].lstrip() if width >= _ROOMY else ""
        lines.append(f"{styled(sign, fg=colour)}  {head}{first}".rstrip())
        lines += message[1:] if width >= _ROOMY else message
        lines += wrapped(f"→ {finding.next_step}", width, indent) if finding.next_step else []
    return lines
