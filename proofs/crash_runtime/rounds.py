"""A round of work: the prompt that asks for it, and what the model does step by step.

Everything is in the prompt, so that a request alone determines the step.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from scripted_model import ToolCall, call
from scripted_model.json_values import Json, JsonObject, is_object, objects_at, text_at

FOUNDER, SCOUT = "oak", "elm"
"""The names of agents. Ids have no vowels, so no name is a prefix of an id."""

TOKEN = re.compile(rf"\b(?:{FOUNDER}|{SCOUT})\d+(?:\.\d+){{3}}\b")
"""The trace of a tool call: agent, round, step and call."""

_LETTER = re.compile(rf"{TOKEN.pattern}|(?<=\bStep ){SCOUT}\d+\.\d+\.\d+(?=, answer \d)")
"""The trace of a letter: that of the call which sent it, or the last step of a scout's report."""

_PROMPT = re.compile(r"Round (\d+) of (\w+)\. Mail: ([\w ]*)\. Scout: (\w*)\.")
_WAITING = 3
"""In one of this many rounds, the agent waits for mail."""


class Key(Struct, frozen=True, order=True):
    """A model call: one step of a round."""

    label: str
    number: int
    step: int

    def __str__(self) -> str:
        return f"{self.label}.{self.number}.{self.step}"


class Round(Struct, frozen=True):
    """One agent's round. `receivers` get mail; a `scout` is forked first."""

    label: str
    number: int
    receivers: tuple[str, ...] = ()
    scout: str = ""

    @property
    def prompt(self) -> str:
        """The prompt for the agent."""
        mail = " ".join(self.receivers)
        return f"Round {self.number} of {self.label}. Mail: {mail}. Scout: {self.scout}."

    @classmethod
    def found_in(cls, text: str) -> "Round | None":
        """The last round that a text asks for.

        >>> Round.found_in(Round("oak1", 2, ("oak2",)).prompt)
        Round(label='oak1', number=2, receivers=('oak2',), scout='')
        """
        found = _PROMPT.findall(text)
        if not found:
            return None
        number, label, mail, scout = found[-1]
        return cls(label, int(number), tuple(mail.split()), scout)

    def steps(self, ledger: str) -> list[list[ToolCall]]:
        """The calls of each message of the model; the last has none and ends the turn."""
        plan = ["append", "search", "send", "check"]
        if self.scout:
            plan.insert(0, "fork")
        if self.number % _WAITING == 0:
            plan.insert(-1, "wait")
        return [*(self._calls(act, step, ledger) for step, act in enumerate(plan)), []]

    def _calls(self, act: str, step: int, ledger: str) -> list[ToolCall]:
        def token(call: int) -> str:
            return f"{self.label}.{self.number}.{step}.{call}"

        match act:
            case "fork":
                goal = Round(self.scout, 1, (self.label,)).prompt
                return [call("slash", command="fork", args=f"-- {goal}")]
            case "append":
                line = f"sleep 0.2; echo {token(0)} >> {ledger}"
                return [call("shell", command=line)]
            case "search":
                return [call("search_files", pattern=token(each)) for each in range(2)]
            case "send":
                return [
                    call("slash", command="send", args=f"{receiver} Mail {token(each)}.")
                    for each, receiver in enumerate(self.receivers)
                ]
            case "wait":
                return [call("slash", command="wait", args="2")]
            case _:
                return [call("slash", command="check-mail")]


def tokens_in(texts: Iterable[str]) -> list[str]:
    """Every token in some texts, with repetitions."""
    return [token for text in texts for token in TOKEN.findall(text)]


def letters_in(texts: Iterable[str]) -> list[str]:
    """The trace of every letter in some texts, with repetitions.

    >>> letters_in(["Mail oak0.1.2.0.", "Its final answer: Step elm0.1.4, answer 2."])
    ['oak0.1.2.0', 'elm0.1.4']
    """
    return [found for text in texts for found in _LETTER.findall(text)]


def key_of(body: Json) -> tuple[Round, Key] | None:
    """The round that a request in OpenAI's chat format is about, and its step."""
    replies = 0
    for message in reversed(objects_at(body, "messages") if is_object(body) else []):
        if text_at(message, "role") == "assistant":
            replies += 1
        elif text_at(message, "role") == "user" and (found := Round.found_in(_text(message))):
            return found, Key(found.label, found.number, replies)
    return None


def _text(message: JsonObject) -> str:
    parts = [text_at(part, "text") for part in objects_at(message, "content")]
    return "\n".join([text_at(message, "content"), *parts])
