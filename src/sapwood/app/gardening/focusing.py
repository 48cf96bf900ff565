"""The focus stack of a project, in a file of its own; own agents may declare more in their log."""

from collections.abc import Callable

from sapwood.app.folders import focus_file
from sapwood.app.gardening.subject import Subject
from sapwood.app.journaling import note, now
from sapwood.garden.filing import locked
from sapwood.garden.focus import (
    BackgroundTopic,
    Focus,
    FocusedTopic,
    archived,
    focused,
    of_project,
    read_focus,
    unfocused,
    write_focus,
)

__all__ = ["focus_in", "focus_on", "remember_archived", "unfocus"]


def focus_in(project: str, subject: Subject | None = None) -> Focus:
    """The stack of a project, with the topics that an own agent's log declares below."""
    stack = of_project(read_focus(focus_file()), project)
    if subject is None:
        return stack
    known = {each.name.casefold() for each in (*stack.topics, *stack.background)}
    last = len(stack.topics)
    return Focus(
        (
            *stack.topics,
            *(
                FocusedTopic(name, priority=last + place)
                for place, name in enumerate(subject.focus, 1)
                if name.casefold() not in known
            ),
        ),
        (
            *stack.background,
            *(BackgroundTopic(n) for n in subject.background if n.casefold() not in known),
        ),
    )


def focus_on(topic: str, priority: int, project: str) -> Focus:
    """Puts a topic into the stack."""
    stack = _changed(lambda old: focused(old, topic, project=project, at=now(), priority=priority))
    note("focused", f"Focused on: {topic}", folder=project, path=str(focus_file()))
    return of_project(stack, project)


def unfocus(topic: str, project: str) -> Focus:
    """Sends a topic to the background."""
    stack = _changed(lambda old: unfocused(old, topic, project=project))
    note("unfocused", f"Sent to the background: {topic}", folder=project, path=str(focus_file()))
    return of_project(stack, project)


def remember_archived(topics: list[str], project: str) -> None:
    """Notes that topics of the background have an archive now."""
    _changed(lambda old: archived(old, topics, project=project))


def _changed(change: Callable[[Focus], Focus]) -> Focus:
    """The stack after a change, written if it is another one. Two changes at once both count."""
    file = focus_file()
    before = read_focus(file)
    if change(before) == before:
        return before
    with locked(file):
        after = change(read_focus(file))
        write_focus(file, after)
    return after
