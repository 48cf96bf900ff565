"""What was said in one turn: the user's sentences, and the model's closing words."""

from msgspec import Struct

from sapwood.core.content import Text
from sapwood.core.ledger.speech.sentences import sentences
from sapwood.core.turn import Reply, Turn

__all__ = ["Spoken", "spoken"]


class Spoken(Struct, frozen=True):
    """The sentences of a turn. `closing` is what the model said after its last tool call."""

    turn: int
    user: tuple[str, ...]
    model: tuple[str, ...]
    closing: tuple[str, ...]


def spoken(turn: Turn, number: int) -> Spoken:
    """The sentences of a turn."""
    asked = "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
    said: list[str] = []
    closing: list[str] = []
    for item in turn.items:
        if not isinstance(item, Reply):
            continue
        text = "\n\n".join(part.text for part in item.parts if isinstance(part, Text))
        found = list(sentences(text))
        said += found
        closing = [] if item.calls else [*closing, *found]
    return Spoken(number, tuple(sentences(asked)), tuple(said), tuple(closing))
