"""The focus stack of a project: in a file of its own, and for own agents also in their log."""

from sapwood.app.folders import focus_file
from sapwood.app.gardening.subject import Subject
from sapwood.app.journaling import note, now
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
    stack = focused(read_focus(focus_file()), topic, project=project, at=now(), priority=priority)
    write_focus(focus_file(), stack)
    note("focused", f"Focused on: {topic}", folder=project, path=str(focus_file()))
    return of_project(stack, project)


def unfocus(topic: str, project: str) -> Focus:
    """Sends a topic to the background."""
    stack = unfocused(read_focus(focus_file()), topic, project=project)
    write_focus(focus_file(), stack)
    note("unfocused", f"Sent to the background: {topic}", folder=project, path=str(focus_file()))
    return of_project(stack, project)


def remember_archived(topics: list[str], project: str) -> None:
    """Notes that topics of the background have an archive now."""
    before = read_focus(focus_file())
    after = archived(before, topics, project=project)
    if after != before:
        write_focus(focus_file(), after)
