"""The chapters of a session with their sizes, and what somebody said about them.

These values are printed as JSON, so their field names are part of the output. Turns are counted
from 1.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from sapwood.core.token_count import Count, show

ChapterStatus = Literal["goal", "background", "aside", "obstacle", "other work", "no work"]
SaidBy = Literal["declared", "announced", "judged"]
_MIN_SHARE = 0.05
"""The share of a session that a finished chapter needs to be named in the advice."""
_MOST_NAMED = 3


class JudgedTurns(Struct, frozen=True):
    """What a judge says about a stretch of turns."""

    first: int
    last: int
    status: ChapterStatus


class Said(Struct, frozen=True):
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
    focus`, `sapwood context unfocus` or a note, `announced` in the prompt, or `judged` by a model.
    Without a word of anybody both are null.
    """

    name: str
    spans: tuple[tuple[int, int], ...]
    turns: int
    tokens: int
    share: float
    files: tuple[str, ...] = ()
    returned_to: tuple[int, ...] = ()
    began: int = 0
    finished: bool = False
    status: ChapterStatus | None = None
    by: SaidBy | None = None

    def __contains__(self, turn: int) -> bool:
        return any(first <= turn <= last for first, last in self.spans)


class ChapterReport(Struct, frozen=True):
    """The chapters of a session in their order, and the largest that are finished.

    `task` is the first request. `archive` are the names of the chapters that the recommendation
    names, `frees` the tokens of their turns.
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

    @property
    def beside_the_goal(self) -> tuple[str, ...]:
        """The finished chapters that somebody said to be beside the goal."""
        return tuple(
            each.name
            for each in self.chapters
            if each.finished and each.status not in (None, "goal", "obstacle")
        )


def is_finished(spans: Sequence[tuple[int, int]], turns: int) -> bool:
    """Whether a chapter of these spans ended before the newest of so many turns."""
    return spans[-1][1] < turns


def recommendation(chapters: Sequence[Chapter], *, exact: bool) -> tuple[str, tuple[Chapter, ...]]:
    """Names the largest finished chapters that nobody declared as a goal."""
    finished = [
        each
        for each in sorted(chapters, key=lambda each: -each.tokens)
        if each.finished and each.status != "goal" and each.share >= _MIN_SHARE
    ][:_MOST_NAMED]
    if not finished:
        return "No chapter of more than 5 % is finished.", ()
    listed = ", ".join(
        f'"{each.name}" ({turns_text(each)}, {show(Count(each.tokens, exact))})'
        for each in finished
    )
    noun = "chapter is" if len(finished) == 1 else "chapters are"
    message = (
        f"The largest finished {noun} {listed}. To archive one, type: "
        f"sapwood context archive --topic '{finished[0].name}'"
    )
    return message, tuple(finished)


def turns_text(chapter: Chapter) -> str:
    """Returns the turns of a chapter.

    >>> turns_text(Chapter("login", ((1, 3), (7, 7)), 4, 900, 0.5))
    'turns 1–3, 7'
    """
    spans = ", ".join(f"{a}–{b}" if a < b else f"{a}" for a, b in chapter.spans)
    return f"{'turn' if chapter.turns == 1 else 'turns'} {spans}"
