"""Arguments of the Python face that no command carries: converted, or refused with a sentence.

What goes into a command is converted by the gate of the dispatcher and needs nothing here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from sapwood.core.content import Got, PromptPart, Said, Text
from sapwood.core.errors import RefusedError
from sapwood.core.events import Pin
from sapwood.core.ids import AgentId, EventRef, can_be_stored
from sapwood.core.log import Cursor, Facts
from sapwood.core.refusals import BadValue
from sapwood.runtime.conversion import (
    Unfit,
    as_flag,
    as_integer,
    as_items,
    as_key,
    as_label,
    as_moment,
    as_text,
)

__all__ = [
    "agent_ids",
    "canonical",
    "count",
    "cursor",
    "event_ref",
    "flag",
    "item_of",
    "items",
    "key",
    "label",
    "optional",
    "page_start",
    "pins_of",
    "prompt_of",
    "text",
]

T = TypeVar("T")


def argument(convert: Callable[[object], T], value: object, name: str) -> T:
    """The value of an argument. Raises `RefusedError` with what it must be."""
    try:
        return convert(value)
    except Unfit as unfit:
        raise RefusedError(BadValue(name, unfit.rule, unfit.given)) from None


def optional(convert: Callable[[object, str], T], value: object, name: str) -> T | None:
    """The value of an argument that may be None."""
    return None if value is None else convert(value, name)


def text(value: object, name: str) -> str:
    """Words of any length."""
    return argument(as_text, value, name)


def label(value: object, name: str) -> str:
    """The name of something."""
    return argument(as_label, value, name)


def key(value: object, name: str) -> str:
    """An id."""
    return argument(as_key, value, name)


def flag(value: object, name: str) -> bool:
    """True or false."""
    return argument(as_flag, value, name)


def count(value: object, name: str) -> int:
    """A number of things, or a version: 0 or more."""
    return argument(partial(as_integer, least=0), value, name)


def items(value: object, name: str) -> Sequence[Any]:
    """A list of anything, which the gate looks into."""
    return argument(as_items, value, name)


def prompt_of(prompt: object) -> tuple[PromptPart, ...]:
    """A prompt as a command takes it; a plain text is one part."""
    if isinstance(prompt, str | bytes):
        return (Text(text(prompt, "prompt")),)
    return tuple(items(prompt, "prompt"))


def item_of(item: object) -> Said | Got:
    """A reply or a result as a command takes it; a plain text is a reply."""
    if isinstance(item, str | bytes):
        return Said((Text(text(item, "reply")),))
    return item  # pyright: ignore[reportReturnType] # the gate refuses anything else


def pins_of(pins: object) -> tuple[Pin, ...]:
    """Pins as a command takes them, from a mapping of their names to their texts."""
    if pins is None:
        return ()
    if not isinstance(pins, Mapping):
        raise RefusedError(BadValue("pins", "a mapping of names to texts", type(pins).__name__))
    return tuple(Pin(name, words) for name, words in pins.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] # the gate looks into them


def agent_ids(value: object, name: str) -> list[AgentId]:
    """Ids of agents; a single id stands for itself. What cannot be an id names no agent."""
    ids = [value] if isinstance(value, str) else items(value, name)
    return [AgentId(each) for each in (key(one, name) for one in ids) if can_be_stored(each)]


def page_start(after: object) -> Facts | None:
    """The last agent of a page, after which the next page begins."""
    if after is None:
        return None
    if not isinstance(after, Facts):
        raise RefusedError(BadValue("after", "an agent of a list", type(after).__name__))
    agent = AgentId(key(after.agent, "after"))
    return Facts(
        agent if can_be_stored(agent) else AgentId(""),
        0,
        created=argument(as_moment, after.created, "after"),
    )


def cursor(after: object) -> Cursor | None:
    """The place from which a tail goes on."""
    if after is None:
        return None
    if not isinstance(after, Cursor):
        raise RefusedError(BadValue("after", "a cursor of a tail", type(after).__name__))
    place = partial(as_integer, least=0, most=2**62)
    return Cursor(
        argument(place, after.transaction, "after"), argument(place, after.position, "after")
    )


def event_ref(ref: object) -> EventRef | None:
    """The place of an event; None for one that no log can have."""
    if not isinstance(ref, EventRef):
        raise RefusedError(BadValue("ref", "the place of an event", type(ref).__name__))
    agent, version = key(ref.agent, "ref"), argument(as_integer, ref.version, "ref")
    return EventRef(AgentId(agent), version) if can_be_stored(agent) and version > 0 else None


def canonical(value: object, name: str) -> str:
    """The value as JSON, the same text for equal values.

    >>> canonical({"top_p": 1, "temperature": 0}, "params")
    '{"temperature":0,"top_p":1}'
    """
    try:
        return msgspec.json.encode(value, order="deterministic").decode()
    except Exception:  # an object of another program may raise anything
        rule = "something that can be written as JSON"
        raise RefusedError(BadValue(name, rule, type(value).__name__)) from None
