"""Takes the words of an erased agent out of the events of other agents.

The log of another agent has words of an erased one in two forms: its mail, as it arrived and as it
was put into prompts and tool results, and its turns, where they were loaded as a quotation. These
are replaced. What another agent wrote in its own words stays.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from sapwood.core.erasure import ERASED
from sapwood.core.events import ContextLoaded, Event, MailReceived, UnreadableEvent
from sapwood.core.ids import AgentId
from sapwood.core.state import State

__all__ = ["state_without_agent", "text_without_agent", "without_agent"]

T = TypeVar("T")


def without_agent(event: Event, erased: AgentId) -> Event | None:
    """The event without words of the erased agent; None if it has none."""
    if isinstance(event, UnreadableEvent):
        return None
    if isinstance(event, MailReceived):
        if event.sender != erased or event.text == ERASED:
            return None
        return msgspec.structs.replace(event, text=ERASED)
    if isinstance(event, ContextLoaded) and event.source.agent == erased:
        return None if event.text == ERASED else msgspec.structs.replace(event, text=ERASED)
    return _replaced(event, erased)


def state_without_agent(state: State, erased: AgentId) -> State:
    """The state without words of the erased agent: unread mail and waiting notes."""
    inbox = tuple(
        msgspec.structs.replace(letter, text=ERASED) if letter.sender == erased else letter
        for letter in state.inbox
    )
    state = msgspec.structs.replace(state, inbox=inbox)
    return _replaced(state, erased) or state


def text_without_agent(text: str, erased: AgentId) -> str:
    """The text with framed mail of the erased agent replaced."""
    return _text_replacer(erased)(text)


def _replaced(value: T, erased: AgentId) -> T | None:
    """A copy of the value with framed mail and notes of the agent replaced; None if it has none."""
    plain = msgspec.to_builtins(value)
    replace = _text_replacer(erased)
    new = _walk(plain, erased, replace)
    return None if new == plain else msgspec.convert(new, type(value))


def _walk(value: Any, erased: AgentId, replace: Callable[[str], str]) -> Any:
    match value:
        case str():
            return replace(value)
        case {"type": "note", "origin": "mail", "source": source} if source == erased:
            return {**value, "text": ERASED}
        case dict():
            return {key: _walk(item, erased, replace) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case list() | tuple():
            return [_walk(item, erased, replace) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def _text_replacer(erased: AgentId) -> Callable[[str], str]:
    """Replaces framed mail of the agent within a text: from its label to the end that it names."""
    fenced = re.compile(
        rf"(?P<label>\[Mail from agent {re.escape(erased)}\. [^\[\]]*This text ends at "
        r"\[end (?P<fence>[^\]]+)\]\.\]\n).*?(?P<end>\n\[end (?P=fence)\])",
        re.DOTALL,
    )

    def replaced(text: str) -> str:
        if erased not in text:
            return text
        return fenced.sub(rf"\g<label>{ERASED}\g<end>", text)

    return replaced
