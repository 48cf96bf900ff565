"""The lines of `sapwood log`: an event on one line."""

import click

from sapwood.core.content import Usage
from sapwood.core.events import Recorded
from sapwood.core.timeline.event_summary import event_summary
from sapwood.display.money import money, usage_line
from sapwood.display.text import cut
from sapwood.display.times import clock

__all__ = ["event_line"]

_ROOMY = 70
_FEW_WORDS = 20


def event_line(recorded: Recorded, width: int, used: Usage | None = None) -> str:
    """The event on one line: version, moment, kind, what it is about, and what was used for it."""
    roomy = width >= _ROOMY
    head = f"{recorded.version:>5} " if roomy else f"{recorded.version:>4} "
    moment = f"{clock(recorded.at)}  " if roomy else ""
    kind = f"{recorded.kind:<18} " if roomy else f"{recorded.kind} "
    room = width - len(head) - len(moment) - len(kind)
    spent = _spent(used, room)
    about = cut(event_summary(recorded.event), max(room - len(spent), 12))
    return (
        f"{click.style(head, fg='cyan')}{click.style(moment, dim=True)}"
        f"{click.style(kind, bold=True)}{about}{click.style(spent, dim=True)}"
    ).rstrip()


def _spent(used: Usage | None, room: int) -> str:
    """As much of it as leaves room for a few words."""
    if used is None:
        return ""
    ways = (f" ({usage_line(used)})", f" ({money(used.cost)})" if used.cost else "")
    return next((way for way in ways if len(way) + _FEW_WORDS <= room), "")
