"""The errand that writes a package for another agent."""

from pathlib import Path

from sapwood.app.folders import handoffs_folder
from sapwood.app.gardening.answers import Handed
from sapwood.app.gardening.errand import Errand
from sapwood.app.gardening.subject import Subject
from sapwood.app.journaling import note, now
from sapwood.core.errors import SapwoodError
from sapwood.garden.focus import Focus, names_in_focus
from sapwood.garden.handing import count_lines, handoff_of, render_handoff, write_handoff

__all__ = ["hand_off"]


def hand_off(errand: Errand, subject: Subject, focus: Focus) -> Handed:
    """Writes the package, or shows it where nothing is to be stored."""
    session = subject.session
    target = " ".join(errand.target_agent.split())[:60]
    if not target:
        raise SapwoodError("Who takes over? Name an agent, such as: context handoff reviewer")
    if not session.turns:
        raise SapwoodError("There is nothing to hand off: nothing was said yet.")
    made = handoff_of(
        session,
        target,
        at=now(),
        task=errand.task,
        topic=next(iter(names_in_focus(focus)), ""),
        count=lambda path: count_lines(Path(session.folder), path) if session.folder else None,
    )
    text = render_handoff(made)
    if not subject.kept:
        return Handed(made, text)
    path = str(write_handoff(handoffs_folder(), made))
    note(
        "handed off",
        f"Context handoff prepared for: {target}",
        source=session.source,
        session=session.id,
        folder=session.folder,
        path=path,
    )
    return Handed(made, text, path)
