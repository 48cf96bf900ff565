"""Chooses the reply to a request: from a Python function, a list, the prompt, or a default."""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import structs

from scripted_model.conversation import ModelRequest, Text
from scripted_model.directives import has_directives
from scripted_model.json_schema import sample
from scripted_model.json_values import decode, encode
from scripted_model.prompt_script import ScriptStep, find_position, user_text
from scripted_model.reply import Reply, ReplyLike, to_reply

SUMMARY = "SCRIPTED SUMMARY: what came before was a test."
_TAGGED = "<analysis>scripted</analysis>\n<summary>\n{}\n</summary>"
_SNAPSHOT = "<state_snapshot>{}</state_snapshot>"
# Phrases in the last text of the user, in lower case, and the form of summary that they ask for.
_FORMS: dict[str, str] = {
    "create a detailed summary of": _TAGGED,
    "summary of the conversation so far": _TAGGED,
    "compress our entire chat history": _SNAPSHOT,
    "<state_snapshot>": _SNAPSHOT,
    "context checkpoint compaction": "{}",
    "handoff summary for another llm": "{}",
    "provide a detailed prompt for continuing": "{}",
    "anchored summary": "{}",
    "summarize the conversation": "{}",
    "summarise the conversation": "{}",
    "summarise this conversation": "{}",
}
_DEFAULT = ScriptStep(Reply.of("ok"))


def is_summary_request(prompt: str, more: tuple[str, ...] = ()) -> bool:
    """Whether the prompt asks for a summary of the conversation. `more` are further phrases.

    Agents compact a conversation by asking the model for a summary, and the request contains the
    whole conversation with its scripts. Such a request gets a summary, not a step of a script.

    >>> is_summary_request("Please summarise the conversation.")
    True
    """
    low = prompt.lower()
    return any(words.lower() in low for words in (*_FORMS, *more))


def summary_reply(prompt: str, summary: str) -> str:
    """Returns the summary in the form that the prompt asks for."""
    low = prompt.lower()
    form = next((form for words, form in _FORMS.items() if words in low), "{}")
    return form.format(summary)


ReplyFunction: TypeAlias = Callable[[ModelRequest], ReplyLike | None]


class ReplySelector:
    """Chooses replies: from the function, else from the list, else from the prompt.

    Its only memory is the list, and how often a step with a counted failure has failed.
    """

    def __init__(self, summary: str, summary_words: tuple[str, ...] = ()) -> None:
        self.summary = summary
        self.summary_words = summary_words
        self.function: ReplyFunction | None = None
        self.queue: deque[Reply] = deque()
        self._attempts: Counter[bytes] = Counter()

    def enqueue(self, steps: Iterable[ReplyLike]) -> None:
        """Adds replies for the next requests, for all clients."""
        self.queue.extend(to_reply(step) for step in steps)

    def clear(self) -> None:
        """Deletes the replies of the list and the counts of failures."""
        self.queue.clear()
        self._attempts.clear()

    def reply(self, request: ModelRequest) -> Reply:
        """Returns the reply to a request. Raises what the function raises."""
        written = self.function(request) if self.function is not None else None
        if written is not None:
            return _matching_schema(request, to_reply(written))
        if self.queue:
            return _matching_schema(request, self.queue.popleft())
        return _matching_schema(request, self._from_prompt(request))

    def _from_prompt(self, request: ModelRequest) -> Reply:
        prompt = user_text(request.prompt)
        if request.wants_compaction:
            return Reply.of(self.summary)
        if not has_directives(prompt) and is_summary_request(prompt, self.summary_words):
            return Reply.of(summary_reply(prompt, self.summary))
        position = find_position(request.messages, self.summary)
        step = _DEFAULT if position is None else position.script.step(position.number)
        if step.fault is None or step.times is None:
            return step.reply_for(0)
        return step.reply_for(self._attempt(request))

    def _attempt(self, request: ModelRequest) -> int:
        """Returns how often a client has sent exactly this conversation before."""
        key = hashlib.blake2b(encode(request.messages), digest_size=16).digest()
        self._attempts[key] += 1
        return self._attempts[key] - 1


def _matching_schema(request: ModelRequest, reply: Reply) -> Reply:
    """If the client asked for JSON and the text is not JSON, replaces it by a sample value."""
    if request.schema is None or not reply.parts or not isinstance(reply.parts[-1], Text):
        return reply
    try:
        decode(reply.parts[-1].text)
    except ValueError:
        said = Text(encode(sample(request.schema)).decode())
        return structs.replace(reply, parts=(*reply.parts[:-1], said))
    return reply
