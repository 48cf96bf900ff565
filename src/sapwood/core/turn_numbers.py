"""The numbers of turns: how people and models name turns, in every command and every face.

The turns of a conversation are 1, 2, 3 in the order in which they were started; a turn that a fork
inherited is `NAME/3`, with the name or the id of the conversation that has it. `4-9` are several
turns, and `4.2` is the second tool result of turn 4.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.turn import Result, Turn

_PLACE = re.compile(
    r"#?(?:(?P<agent>.+)/)?(?P<first>[0-9]{1,18})"
    r"(?:-(?P<last>[0-9]{1,18})|\.(?P<result>[0-9]{1,18}))?"
)


class TurnPlace(Struct, frozen=True):
    """A turn, the turns `first` to `last`, or one tool result of a turn.

    `result` counts the tool results of the turn from 1; 0 is the whole turn. `agent` is the typed
    name or id of another conversation; '' is the conversation of the command.
    """

    first: int
    last: int
    result: int = 0
    agent: str = ""

    def __str__(self) -> str:
        end = f"-{self.last}" if self.last != self.first else ""
        result = f".{self.result}" if self.result else ""
        return f"{self.agent}{'/' if self.agent else ''}{self.first}{end}{result}"

    @property
    def is_turn(self) -> bool:
        """Whether it is one whole turn."""
        return self.first == self.last and not self.result

    @property
    def numbers(self) -> range:
        """The numbers of the turns."""
        return range(self.first, self.last + 1)


def parse_place(typed: str) -> TurnPlace | None:
    """Reads a place as people type it; None if it is none. Nothing is looked up.

    >>> parse_place("review/4.2")
    TurnPlace(first=4, last=4, result=2, agent='review')
    >>> print(parse_place("#4-9"), parse_place("9-4"), parse_place("0"), parse_place("4.0"))
    4-9 None None None
    """
    found = _PLACE.fullmatch(typed.strip())
    if found is None:
        return None
    first = int(found["first"])
    last, result = int(found["last"] or first), int(found["result"] or 0)
    if not 0 < first <= last or (found["result"] and not result):
        return None
    return TurnPlace(first, last, result, found["agent"] or "")


def result_of(turn: Turn, number: int) -> Result | None:
    """The tool result of a turn with this number, counted from 1; None if there is none."""
    results = [item for item in turn.items if isinstance(item, Result)]
    return results[number - 1] if 0 < number <= len(results) else None


def in_words(numbers: Sequence[int]) -> str:
    """Numbers in order, with consecutive ones joined.

    >>> in_words([1, 2, 3, 5, 8, 9])
    '1-3, 5, 8-9'
    """
    spans: list[TurnPlace] = []
    for number in numbers:
        if spans and number == spans[-1].last + 1:
            spans[-1] = TurnPlace(spans[-1].first, number)
        else:
            spans.append(TurnPlace(number, number))
    return ", ".join(map(str, spans))
