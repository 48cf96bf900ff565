"""The focus stack: what matters now, the most important first, and what went to the background.

A stack belongs to one conversation, and the log of its agent keeps it.
"""

from collections.abc import Sequence

from msgspec import Struct, structs

from sapwood.analysis.chapter_report import DeclaredStatus, JudgedTurns
from sapwood.core.errors import SapwoodError
from sapwood.core.refusals import nearest

_MAX_LENGTH = 120


class FocusedTopic(Struct, frozen=True):
    """A topic that matters now; 1 is the highest priority, `since` is a time in ISO form."""

    name: str
    since: str = ""
    priority: int = 1


class BackgroundTopic(Struct, frozen=True):
    """A topic that was sent out of focus, and whether there is an archive of it."""

    name: str
    archived: bool = False


class FocusStack(Struct, frozen=True):
    """Topics in focus, the most important first, and in the background."""

    topics: tuple[FocusedTopic, ...] = ()
    background: tuple[BackgroundTopic, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the topics in focus."""
        return tuple(each.name for each in self.topics)


def declared_status(
    focus: FocusStack, goals: Sequence[str] = (), judged: Sequence[JudgedTurns] = ()
) -> DeclaredStatus:
    """What the stack, the goals that were noted, and a judge say about the chapters."""
    names = dict.fromkeys((*focus.names, *goals))
    return DeclaredStatus(
        tuple(names), tuple(each.name for each in focus.background), tuple(judged)
    )


def focused(focus: FocusStack, topic: str, *, at: str, priority: int = 1) -> FocusStack:
    """The stack with a topic at a place, by default on top; the others make room.

    >>> stack = focused(FocusStack(), "OAuth", at="")
    >>> [(t.priority, t.name) for t in focused(stack, "Refresh", at="").topics]
    [(1, 'Refresh'), (2, 'OAuth')]
    """
    name = _named(topic)
    own = [each for each in focus.topics if not _is(each.name, name)]
    place = max(1, min(priority, len(own) + 1)) - 1
    own.insert(place, FocusedTopic(name, at))
    background = [each for each in focus.background if not _is(each.name, name)]
    return FocusStack(_numbered(own), tuple(background))


def unfocused(focus: FocusStack, topic: str) -> FocusStack:
    """The stack without a topic, which goes to the background."""
    name = _named(topic)
    found = next((each for each in focus.topics if _is(each.name, name)), None)
    if found is None:
        raise SapwoodError(_not_in_focus(name, focus))
    own = [each for each in focus.topics if each is not found]
    known = any(_is(each.name, name) for each in focus.background)
    added = () if known else (BackgroundTopic(found.name),)
    return FocusStack(_numbered(own), (*focus.background, *added))


def _numbered(topics: Sequence[FocusedTopic]) -> tuple[FocusedTopic, ...]:
    return tuple(structs.replace(each, priority=place) for place, each in enumerate(topics, 1))


def _named(topic: str) -> str:
    name = " ".join(topic.split())[:_MAX_LENGTH]
    if not name:
        raise SapwoodError(
            "A topic needs a name, such as: sapwood context focus 'OAuth for mobile'"
        )
    return name


def _is(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _not_in_focus(name: str, here: FocusStack) -> str:
    if any(_is(each.name, name) for each in here.background):
        return f"'{name}' is in the background already."
    if not here.topics:
        return f"'{name}' is not in focus: nothing is. Type: sapwood context focus TOPIC"
    close = nearest(name, here.names) or here.names
    return f"'{name}' is not in focus. In focus: {', '.join(close)}."
