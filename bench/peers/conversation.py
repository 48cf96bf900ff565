"""The conversation that every store is given: the same messages, made anew on each run.

Standard library only, because the peers' interpreter runs this file as well as ours.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

MESSAGE_BYTES = 500

_WORDS = (
    "branch cache commit context diff event file fork function head index line log mark "
    "message model module patch prompt query request result row schema stream summary table "
    "test token tool trace tree turn type value view window worker"
).split()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of exactly `MESSAGE_BYTES` bytes."""

    role: Literal["user", "assistant"]
    text: str


def conversation(messages: int) -> list[Message]:
    """`messages` messages, user and assistant in alternation, equal on every machine.

    >>> [(message.role, len(message.text.encode())) for message in conversation(2)]
    [('user', 500), ('assistant', 500)]
    """
    if messages % 2:
        raise ValueError(f"A conversation of whole turns has an even length, not {messages}.")
    source = random.Random("sapwood")
    return [
        Message("assistant" if index % 2 else "user", _text(index, source))
        for index in range(messages)
    ]


def turns(messages: Sequence[Message]) -> list[tuple[Message, Message]]:
    """The conversation cut into turns: a user message and its answer."""
    return list(zip(messages[::2], messages[1::2], strict=True))


def _text(index: int, source: random.Random) -> str:
    words = " ".join(source.choices(_WORDS, k=MESSAGE_BYTES // 4))
    return f"message {index}: {words}"[:MESSAGE_BYTES].ljust(MESSAGE_BYTES, ".")
