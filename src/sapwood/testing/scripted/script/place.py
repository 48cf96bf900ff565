"""Where in a conversation the script stands, and which of its steps is due. Pure.

The script is that of the last text of the user which holds one. The k-th request after it plays
its k-th step: as many model messages as follow the text have been played. So the server needs no
memory of a conversation, and a request that is sent again gets the same answer.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from sapwood.core.content import Text
from sapwood.core.view import Message
from sapwood.testing.scripted.script.brackets import Script, parse
from sapwood.testing.scripted.script.directives import has_directives

__all__ = ["Place", "find_place", "own_words"]

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)

# Texts that quote what was said earlier: a script in them has been played.
_QUOTING = (
    "[Summary of the conversation before this point]",
    "[The user's last request before this point, verbatim]",
)


class Place(Struct, frozen=True):
    """A script and the number of its step that is due."""

    script: Script
    number: int


def find_place(messages: tuple[Message, ...], summary: str) -> Place | None:
    """The due step of the script in force; `None` if there is no script.

    A summary after the script means that its prompt outlived a compaction: it has been played.
    """
    replies, summarised = 0, False
    for message in reversed(messages):
        if message.role == "assistant":
            replies += 1
            continue
        for text in _texts(message):
            if has_directives(text):
                script = parse(text)
                return Place(script, len(script.steps) + 1 if summarised else replies)
            summarised = summarised or summary in text
    return None


def own_words(text: str) -> str:
    """The text without what an agent's program put between the user's words."""
    return _REMINDER.sub("", text) if "<system-reminder>" in text else text


def _texts(message: Message) -> Iterator[str]:
    """What the user wrote, the last text first: several prompts may share a message."""
    for part in reversed(message.parts):
        if isinstance(part, Text) and not part.text.startswith(_QUOTING):
            yield own_words(part.text)
