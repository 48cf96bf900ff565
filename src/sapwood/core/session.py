"""A conversation as a whole, wherever it ran: what a transcript or a log tells of it.

The common ground of everything that looks at conversations without running them: whoever reads
transcripts makes these values, whoever reads an own agent's log makes the same ones, and what is
told of them (ledger, topics, archives, handoffs) need not know which it was.
"""

from msgspec import Struct

from sapwood.core.content import Text
from sapwood.core.turn import Turn

__all__ = ["Boundary", "Session"]


class Boundary(Struct, frozen=True, omit_defaults=True):
    """A place where the program put a summary in place of what came before.

    `after` is the number of turns that lie before it, of which the last `kept` stayed in view as
    they were. `quoted` are messages that stayed without the rest of their turn. Tokens are those of
    the whole context just before and just after, where the program reported them. A summary that
    the program does not tell, because it is encrypted, is empty.
    """

    after: int
    trigger: str = ""
    before_tokens: int | None = None
    after_tokens: int | None = None
    summary: str = ""
    at: int = 0
    kept: int = 0
    quoted: str = ""


class Session(Struct, frozen=True, omit_defaults=True):
    """A conversation and where it comes from.

    `source` names the program (`claude-code`, `codex`, `gemini`, `sapwood`), `id` is the one that
    program knows it by, and `path` its transcript. `times` says when each turn began, in
    microseconds since 1970. `used` is the size of the context as last reported, `window` its
    limit; both are None while nobody has reported them. `left` are the places of turns that a
    rewind left on a side branch. `asked` is the first request, where only the last part of a long
    transcript was read, and `parent` the id of the session that a subagent worked for.
    """

    source: str
    id: str
    folder: str = ""
    path: str = ""
    title: str = ""
    model: str = ""
    turns: tuple[Turn, ...] = ()
    times: tuple[int, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    used: int | None = None
    window: int | None = None
    updated: int = 0
    left: tuple[int, ...] = ()
    asked: str = ""
    parent: str = ""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The number of each turn as people count them: by prompts, from 1.

        A turn that only goes on has the number of the turn before it.
        """
        numbers: list[int] = []
        for turn in self.turns:
            last = numbers[-1] if numbers else 0
            numbers.append(last if turn.goes_on and last else last + 1)
        return tuple(numbers)

    def numbered(self, *wanted: int) -> tuple[Turn, ...]:
        """The turns that have one of these numbers."""
        pairs = zip(self.numbers, self.turns, strict=True)
        return tuple(turn for number, turn in pairs if number in wanted)

    @property
    def in_view(self) -> tuple[Turn, ...]:
        """The turns that the program's model sees as they are."""
        return tuple(self.turns[place] for place in self.places_in_view)

    @property
    def places_in_view(self) -> tuple[int, ...]:
        """Where in `turns` those stand that the program's model sees as they are."""
        boundary = self.boundaries[-1] if self.boundaries else Boundary(0)
        left = set(self.left)
        places = [place for place in range(len(self.turns)) if place not in left]
        before = [place for place in places if place < boundary.after]
        kept = before[len(before) - min(boundary.kept, len(before)) :]
        return (*kept, *places[len(before) :])

    @property
    def request(self) -> str:
        """What was asked for first: the text of the first prompt that is a request."""
        return self.asked or next((_words(turn) for turn in self.turns if turn.is_request), "")

    @property
    def last_request(self) -> str:
        """What was asked for last."""
        return next((_words(turn) for turn in reversed(self.turns) if turn.is_request), "")


def _words(turn: Turn) -> str:
    return "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
