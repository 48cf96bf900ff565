"""The focus stack: what matters now, the most important first, and what went to the background.

A topic belongs to the project in which it was declared, so that work in one folder does not colour
another. The log keeps the stack; `read_focus` reads the file in which an earlier version kept it.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from sapwood.analysis.chapter_report import JudgedTurns, Said
from sapwood.core.errors import SapwoodError
from sapwood.core.refusals import nearest

_LONGEST = 120


class FocusedTopic(Struct, frozen=True):
    """A topic that matters now; 1 is the highest priority, `since` is a time in ISO form."""

    name: str
    since: str = ""
    priority: int = 1
    project: str = ""


class BackgroundTopic(Struct, frozen=True):
    """A topic that was sent out of focus, and whether there is an archive of it."""

    name: str
    archived: bool = False
    project: str = ""


class Focus(Struct, frozen=True):
    """Topics in focus and in the background."""

    topics: tuple[FocusedTopic, ...] = ()
    background: tuple[BackgroundTopic, ...] = ()


def of_project(focus: Focus, project: str) -> Focus:
    """The topics of one project, and those that belong to none."""
    return Focus(
        tuple(
            sorted(
                (each for each in focus.topics if each.project in ("", project)),
                key=lambda each: each.priority,
            )
        ),
        tuple(each for each in focus.background if each.project in ("", project)),
    )


def names_in_focus(focus: Focus) -> tuple[str, ...]:
    """The names of the topics in focus, the most important first."""
    return tuple(each.name for each in sorted(focus.topics, key=lambda each: each.priority))


def said_about(focus: Focus, goals: Sequence[str] = (), judged: Sequence[JudgedTurns] = ()) -> Said:
    """What the stack, the goals that were noted, and a judge say about the chapters."""
    names = dict.fromkeys((*names_in_focus(focus), *goals))
    return Said(tuple(names), tuple(each.name for each in focus.background), tuple(judged))


def focused(focus: Focus, topic: str, *, project: str, at: str, priority: int = 1) -> Focus:
    """The stack with a topic at a place, by default on top; the others make room.

    >>> stack = focused(Focus(), "OAuth", project="", at="")
    >>> [(t.priority, t.name) for t in focused(stack, "Refresh", project="", at="").topics]
    [(1, 'Refresh'), (2, 'OAuth')]
    """
    name = _named(topic)
    own = [each for each in of_project(focus, project).topics if not _is(each.name, name)]
    place = max(1, min(priority, len(own) + 1)) - 1
    own.insert(place, FocusedTopic(name, at, project=project))
    background = tuple(
        each
        for each in focus.background
        if each.project not in ("", project) or not _is(each.name, name)
    )
    return _with_topics(Focus(focus.topics, background), own, project)


def unfocused(focus: Focus, topic: str, *, project: str) -> Focus:
    """The stack without a topic, which goes to the background."""
    name = _named(topic)
    here = of_project(focus, project)
    found = next((each for each in here.topics if _is(each.name, name)), None)
    if found is None:
        raise SapwoodError(_not_in_focus(name, here))
    own = [each for each in here.topics if each is not found]
    known = any(_is(each.name, name) for each in here.background)
    added = () if known else (BackgroundTopic(found.name, project=project),)
    return _with_topics(Focus(focus.topics, (*focus.background, *added)), own, project)


def read_focus(file: Path) -> Focus:
    """What the file holds. One that is not there is an empty stack."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Focus)
    except FileNotFoundError:
        return Focus()
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SapwoodError(
            f"{file} cannot be understood: {error}. Mend it or move it away; nothing was changed."
        ) from error


def _with_topics(focus: Focus, own: Sequence[FocusedTopic], project: str) -> Focus:
    """The stack with these topics of a project, numbered from 1, before those of others."""
    numbered = [structs.replace(each, priority=place) for place, each in enumerate(own, 1)]
    others = [each for each in focus.topics if each.project not in ("", project)]
    return Focus((*numbered, *others), focus.background)


def _named(topic: str) -> str:
    name = " ".join(topic.split())[:_LONGEST]
    if not name:
        raise SapwoodError(
            "A topic needs a name, such as: sapwood context focus 'OAuth for mobile'"
        )
    return name


def _is(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _not_in_focus(name: str, here: Focus) -> str:
    known = names_in_focus(here)
    if any(_is(each.name, name) for each in here.background):
        return f"'{name}' is in the background already."
    if not known:
        return f"'{name}' is not in focus: nothing is. Type: sapwood context focus TOPIC"
    close = nearest(name, known) or known
    return f"'{name}' is not in focus. In focus: {', '.join(close)}."
