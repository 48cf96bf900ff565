"""The chapters of a session with their sizes, and what somebody said about them.

These values are printed as JSON, so their field names are part of the output. Turns are counted
from 1.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from sapwood.core.token_count import Count, show

ChapterStatus = Literal["goal", "background", "obstacle", "other work", "no work"]
SaidBy = Literal["declared", "judged"]
_OFF_TASK = ("background", "other work", "no work")
_MAX_NAMED = 3


class JudgedTurns(Struct, frozen=True):
    """What a judge says about a stretch of turns."""

    first: int
    last: int
    status: ChapterStatus


class DeclaredStatus(Struct, frozen=True):
    """What people, agents and judges said about the subjects of a session.

    `goals` are the topics in focus and the goals that were noted, the most important first;
    `background` are topics that were sent out of focus.
    """

    goals: tuple[str, ...] = ()
    background: tuple[str, ...] = ()
    judged: tuple[JudgedTurns, ...] = ()


class Chapter(Struct, frozen=True):
    """A subject of the session, from its first turn on.

    `spans` are the first and the last turn of each stretch, `returned_to` the turns that took the
    subject up again. `share` is that of the session's tokens, from 0 to 1. `files` are those it
    touched most. `status` is what somebody said, and `by` how: `declared` with `sapwood context
    focus`, `sapwood context unfocus` or a note, or `judged` by a model. Without a word of anybody
    both are null.
    """

    name: str
    spans: tuple[tuple[int, int], ...]
    turns: int
    tokens: int
    share: float
    files: tuple[str, ...] = ()
    returned_to: tuple[int, ...] = ()
    began: int = 0
    status: ChapterStatus | None = None
    by: SaidBy | None = None

    def __contains__(self, turn: int) -> bool:
        return any(first <= turn <= last for first, last in self.spans)


class ChapterReport(Struct, frozen=True):
    """The chapters of a session in their order, and those that somebody said to be off the task.

    `task` is the first request. `archive` are the names of the chapters off the task, without the
    one of the newest turn, the largest first; `frees` are the tokens of their turns.
    """

    task: str
    chapters: tuple[Chapter, ...] = ()
    recommendation: str = ""
    archive: tuple[str, ...] = ()
    frees: int = 0

    def named(self, name: str) -> Chapter | None:
        """The chapter of that name, in any case of letters."""
        folded = name.casefold()
        return next((each for each in self.chapters if each.name.casefold() == folded), None)

    def names_by_turn(self) -> dict[int, str]:
        """The name of the chapter of each turn."""
        return {
            turn: each.name
            for each in self.chapters
            for first, last in each.spans
            for turn in range(first, last + 1)
        }


def off_task(chapters: Sequence[Chapter]) -> tuple[Chapter, ...]:
    """Returns the chapters that somebody said to be off the task, the largest first.

    The chapter of the newest turn is never among them.
    """
    newest = max((each.spans[-1][1] for each in chapters), default=0)
    found = [each for each in chapters if each.status in _OFF_TASK and newest not in each]
    return tuple(sorted(found, key=lambda each: -each.tokens))


def recommendation(off: Sequence[Chapter], *, exact: bool) -> str:
    """Names the largest chapters off the task, and how to archive one; empty if there are none."""
    if not off:
        return ""
    listed = ", ".join(
        f'"{each.name}" ({turns_text(each)}, {show(Count(each.tokens, exact))}, '
        f"{each.status}, {each.by})"
        for each in off[:_MAX_NAMED]
    )
    return (
        f"Off the task: {listed}. To archive one, type: "
        f"sapwood context archive --topic '{off[0].name}'"
    )


def turns_text(chapter: Chapter) -> str:
    """Returns the turns of a chapter.

    >>> turns_text(Chapter("login", ((1, 3), (7, 7)), 4, 900, 0.5))
    'turns 1–3, 7'
    """
    spans = ", ".join(f"{a}–{b}" if a < b else f"{a}" for a, b in chapter.spans)
    return f"{'turn' if chapter.turns == 1 else 'turns'} {spans}"
