"""The numbers of turns: how people and models name turns, in every command and every face.

The turns of a conversation are 1, 2, 3 in the order in which they were started; a turn that a fork
inherited is `NAME/3`, with the name or the id of the conversation that has it. `4-9` are several
turns, and `4.2` is the second tool result of turn 4.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from sapwood.core.events import ModelCalled, Recorded, TurnRecorded, TurnStarted
from sapwood.core.ids import AgentId, TurnPlace
from sapwood.core.turn import Result, Turn

TURN_STARTS = (TurnStarted.kind, TurnRecorded.kind)
"""The kinds of events that start a turn, each with the next number."""

_PLACE = re.compile(
    r"#?(?:(?P<agent>.+)/)?(?P<first>[0-9]{1,18})"
    r"(?:-(?P<last>[0-9]{1,18})|\.(?P<result>[0-9]{1,18}))?"
)


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


Names = Mapping[AgentId, str]
"""How places name the other conversations than the one that is shown."""


def turn_place(agent: AgentId, number: int, names: Names) -> str:
    """A turn as people name it: its number, after the name of its conversation if `names` has it.

    >>> turn_place(AgentId("a"), 3, {}), turn_place(AgentId("b"), 3, {AgentId("b"): "review"})
    ('3', 'review/3')
    """
    return str(TurnPlace(number, number, agent=names.get(agent, "")))


def turn_words(number: int) -> str:
    """A turn of the conversation that is analysed; the turns that it inherited have no number.

    >>> turn_words(3), turn_words(0)
    ('turn 3', 'an inherited turn')
    """
    return f"turn {number}" if number else "an inherited turn"


def numbered(recorded: Recorded, number: int) -> Recorded:
    """The event with the number of the turn that it starts, unless it has one or starts none."""
    event = recorded.event
    if not isinstance(event, TurnStarted | TurnRecorded) or event.number:
        return recorded
    return structs.replace(recorded, event=structs.replace(event, number=number))


class NumberedCall(Struct, frozen=True):
    """A model call as people name it: the call `nth` of the turn with the number `turn`.

    A call that belongs to no turn, such as for a summary, has the turn 0. A request of an imported
    conversation has no turn either, and `nth` is its number there; otherwise `nth` is then 0.
    """

    recorded: Recorded
    turn: int
    nth: int

    @property
    def called(self) -> ModelCalled:
        """The event of the call."""
        assert isinstance(self.recorded.event, ModelCalled)
        return self.recorded.event

    @property
    def place(self) -> str:
        """The place in words, such as `turn 3, call 2`."""
        if self.turn:
            return f"turn {self.turn}, call {self.nth}"
        return f"request {self.nth}" if self.nth else "summary"


def means_turn(typed: str) -> bool:
    """Whether somebody typed a turn and not the name of a mark, which starts with a letter.

    >>> means_turn("3"), means_turn("review/3"), means_turn("START")
    (True, True, False)
    """
    return typed[:1] == "#" or typed[:1].isdecimal() or "/" in typed or ":" in typed


def result_of(turn: Turn, number: int) -> Result | None:
    """The tool result of a turn with this number, counted from 1; None if there is none."""
    results = [item for item in turn.items if isinstance(item, Result)]
    return results[number - 1] if 0 < number <= len(results) else None


def joined_places(places: Sequence[str]) -> str:
    """Turns as a command takes them: consecutive numbers joined, names as they are.

    >>> joined_places(["lead/2", "4", "5", "6", "9"])
    'lead/2 4-6 9'
    """
    numbers = sorted(int(place) for place in places if place.isdecimal())
    named = [place for place in places if not place.isdecimal()]
    return " ".join([*named, in_words(numbers).replace(",", "")]).strip()


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
