"""Chooses the reply to a request: from Python, from a list, from the prompt, or by default."""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import structs

from sapwood.core.content import Text
from sapwood.testing.scripted.asked import Asked
from sapwood.testing.scripted.jsontree import decode, encode
from sapwood.testing.scripted.reply import Reply, Step, to_reply
from sapwood.testing.scripted.script.brackets import Turnout
from sapwood.testing.scripted.script.directives import has_directives
from sapwood.testing.scripted.script.place import find_place, own_words
from sapwood.testing.scripted.script.sample import sample
from sapwood.testing.scripted.script.summary import is_summary_request, summary_reply

__all__ = ["Player", "Playwright"]

Playwright: TypeAlias = Callable[[Asked], Step | None]
_DEFAULT = Turnout(Reply.of("ok"))


class Player:
    """The sources of replies, in the order in which they are asked.

    Its only memory is how often a step that is to fail at first has failed.
    """

    def __init__(self, summary: str, summary_words: tuple[str, ...] = ()) -> None:
        self.summary = summary
        self.summary_words = summary_words
        self.playwright: Playwright | None = None
        self.queue: deque[Reply] = deque()
        self._attempts: Counter[bytes] = Counter()

    def enqueue(self, steps: Iterable[Step]) -> None:
        """Replies for the requests to come, whoever sends them."""
        self.queue.extend(to_reply(step) for step in steps)

    def forget(self) -> None:
        """Back to the beginning: no replies waiting, no failures counted."""
        self.queue.clear()
        self._attempts.clear()

    def reply(self, asked: Asked) -> Reply:
        """What the model answers. It may raise whatever the Python script raises."""
        written = self.playwright(asked) if self.playwright is not None else None
        if written is not None:
            return _in_form(asked, to_reply(written))
        if self.queue:
            return _in_form(asked, self.queue.popleft())
        return _in_form(asked, self._from_prompt(asked))

    def _from_prompt(self, asked: Asked) -> Reply:
        prompt = own_words(asked.prompt)
        if asked.compacts:
            return Reply.of(self.summary)
        if not has_directives(prompt) and is_summary_request(prompt, self.summary_words):
            return Reply.of(summary_reply(prompt, self.summary))
        place = find_place(asked.messages, self.summary)
        turnout = _DEFAULT if place is None else place.script.step(place.number)
        if turnout.fault is None or turnout.times is None:
            return turnout.on(0)
        return turnout.on(self._attempt(asked))

    def _attempt(self, asked: Asked) -> int:
        """How often this very conversation has been sent before."""
        key = hashlib.blake2b(encode(asked.messages), digest_size=16).digest()
        self._attempts[key] += 1
        return self._attempts[key] - 1


def _in_form(asked: Asked, reply: Reply) -> Reply:
    """A request for JSON gets JSON: text that is none gives way to a sample of the schema."""
    if asked.schema is None or not reply.parts or not isinstance(reply.parts[-1], Text):
        return reply
    try:
        decode(reply.parts[-1].text)
    except ValueError:
        said = Text(encode(sample(asked.schema)).decode())
        return structs.replace(reply, parts=(*reply.parts[:-1], said))
    return reply
