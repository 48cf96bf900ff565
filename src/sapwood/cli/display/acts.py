"""The journal as people read it: when, where and what."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import click

from sapwood.display.text import wrapped
from sapwood.garden.journal import Act

__all__ = ["act_lines"]


def act_lines(acts: Iterable[Act], width: int) -> list[str]:
    """Each act with its time, its conversation and its words; below it, the file it made."""
    lines: list[str] = []
    for act in acts:
        where = " · ".join(filter(None, (act.source, act.session[:8], Path(act.folder).name)))
        did = click.style(act.did, fg="red" if act.did == "failed" else None, bold=True)
        lines.append(f"{_clock(act.at)}  {did}" + (f"  {where}" if where else ""))
        lines += wrapped(act.says, width, "  ")
        lines += [f"  {act.path}"] if act.path else []
    return lines


def _clock(at: str) -> str:
    try:
        return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return at
