"""Reads the questions and the conversations that answer them.

In a file, `#` opens a conversation, `>` a turn with its prompt, `!` is what a tool returned, `<`
the reply, and each `?` a question that the turn above it answers.
"""

import random
from pathlib import Path
from typing import Literal

from msgspec import Struct

from evals.search.filler import filler_turns

Half = Literal["tuned", "held_out"]
HALVES: tuple[Half, ...] = ("tuned", "held_out")
_FOLDER = Path(__file__).parent
_FILLER_TURNS = 25


class SearchTurn(Struct, frozen=True):
    """A turn, and the questions that it answers."""

    prompt: str
    reply: str
    result: str = ""
    questions: tuple[str, ...] = ()


class SearchConversation(Struct, frozen=True):
    """A conversation: the turns with facts, and ordinary ones between them."""

    name: str
    language: str
    turns: list[SearchTurn]


def read_half(half: Half) -> list[SearchConversation]:
    """The conversations of one half, always the same."""
    found: list[SearchConversation] = []
    for path in sorted((_FOLDER / half).glob("*.txt")):
        for block in path.read_text().split("# ")[1:]:
            name, _, lines = block.partition("\n")
            found.append(_conversation(name, path.stem, lines))
    return found


def _conversation(name: str, language: str, lines: str) -> SearchConversation:
    facts = [_turn(part) for part in ("\n" + lines).split("\n> ")[1:]]
    filler = [SearchTurn(*each) for each in filler_turns(language, name, _FILLER_TURNS)]
    places = sorted(random.Random(name).sample(range(len(facts) + len(filler)), len(facts)))
    turns = filler
    for place, fact in zip(places, facts, strict=True):
        turns.insert(place, fact)
    return SearchConversation(name, language, turns)


def _turn(part: str) -> SearchTurn:
    prompt, *lines = part.strip().split("\n")
    marked = [(line[0], line[2:]) for line in lines]
    one = {sign: text.replace("\\n", "\n") for sign, text in marked if sign in "!<"}
    return SearchTurn(
        prompt, one["<"], one.get("!", ""), tuple(text for sign, text in marked if sign == "?")
    )
