"""Converts the arguments of API methods, or raises `RefusedError` with the rule for the value.

The gate of the dispatcher converts the values that go into a command; they need nothing here.

Answers of a given type: the JSON Schema for the model, and what reads the answer.
"""

import reprlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import msgspec
from msgspec import structs

from sapwood.core.content import PromptPart, RecordedReply, RecordedResult, Text
from sapwood.core.errors import RefusedError
from sapwood.core.events import HUMAN, Actor, Pin
from sapwood.core.ids import AgentId, EventRef, can_be_stored
from sapwood.core.log_values import AgentSummary, Cursor, Where
from sapwood.core.plural import either
from sapwood.core.refusals import BadId, BadValue
from sapwood.core.tags import Entry, Tags
from sapwood.core.turn_params import TurnParams
from sapwood.turns.conversion import (
    Unfit,
    as_flag,
    as_integer,
    as_items,
    as_key,
    as_label,
    as_moment,
    as_number,
    as_text,
)
from sapwood.turns.gate import as_actor

T = TypeVar("T")
_Name = TypeVar("_Name", bound=str)


def argument(convert: Callable[[object], T], value: object, name: str) -> T:
    """Converts an argument. Raises `RefusedError` with the rule for its value."""
    try:
        return convert(value)
    except Unfit as unfit:
        raise RefusedError(BadValue(name, unfit.rule, unfit.given)) from None


def optional(convert: Callable[[object, str], T], value: object, name: str) -> T | None:
    """Converts an argument unless it is None."""
    return None if value is None else convert(value, name)


def text(value: object, name: str) -> str:
    """Converts a text of any length."""
    return argument(as_text, value, name)


def label(value: object, name: str) -> str:
    """Converts a name."""
    return argument(as_label, value, name)


def key(value: object, name: str) -> str:
    """Converts an id."""
    return argument(as_key, value, name)


def new_id(value: object, name: str) -> str:
    """Converts an id that will be stored. Raises `RefusedError`."""
    typed = key(value, name)
    if not can_be_stored(typed):
        raise RefusedError(BadId(typed))
    return typed


def flag(value: object, name: str) -> bool:
    """Converts a boolean."""
    return argument(as_flag, value, name)


def choice(value: object, name: str, known: tuple[_Name, ...]) -> _Name:
    """One of these names. Raises `RefusedError`."""
    for each in known:
        if isinstance(value, str) and value == each:
            return each
    raise RefusedError(BadValue(name, either(known), reprlib.repr(value)[:80]))


def count(value: object, name: str) -> int:
    """Converts a whole number that is 0 or more."""
    return argument(partial(as_integer, minimum=0), value, name)


def number(value: object, name: str) -> float:
    """Converts a number of seconds that is more than 0."""
    seconds = argument(as_number, value, name)
    if seconds <= 0:
        raise RefusedError(BadValue(name, "more than 0", type(value).__name__))
    return seconds


def who(actor: object) -> Actor:
    """Converts who acts; None is a person without a name."""
    return HUMAN if actor is None else argument(as_actor, actor, "actor")


def items(value: object, name: str) -> Sequence[Any]:
    """Converts a list. The gate checks its items."""
    return argument(as_items, value, name)


def prompt_parts(prompt: object) -> tuple[PromptPart, ...]:
    """Converts a prompt into its parts. A plain text is one part."""
    if isinstance(prompt, str | bytes):
        return (Text(text(prompt, "prompt")),)
    return tuple(
        Text(text(part.text, "prompt")) if isinstance(part, Text) else part
        for part in items(prompt, "prompt")
    )


def recorded_item(item: object) -> RecordedReply | RecordedResult:
    """Converts an item of a recorded turn. A plain text is a reply."""
    if isinstance(item, str | bytes):
        return RecordedReply((Text(text(item, "reply")),))
    return item  # pyright: ignore[reportReturnType] # the gate refuses anything else


def pins_from(pins: object) -> tuple[Pin, ...]:
    """Converts a mapping of names to strings into pins."""
    if pins is None:
        return ()
    if not isinstance(pins, Mapping):
        raise RefusedError(BadValue("pins", "a mapping of names to strings", type(pins).__name__))
    try:
        return tuple(Pin(name, words) for name, words in pins.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] # the gate checks them
    except Exception as error:  # a caller's mapping may raise anything
        reason = f"a mapping that raised {type(error).__name__}"
        raise RefusedError(BadValue("pins", "a mapping of names to strings", reason)) from error


def tags_from(owner: object, labels: object, metadata: object) -> Tags | None:
    """Converts the owner, labels and metadata of a new agent; None if none are given."""
    named = label(owner, "owner")
    listed = tuple(label(each, "labels") for each in items(labels, "labels"))
    entries = entries_from(metadata)
    return Tags(named, listed, entries) if named or listed or entries else None


def entries_from(metadata: object) -> tuple[Entry, ...]:
    """Converts a mapping of names to strings into entries of the metadata."""
    if metadata is None:
        return ()
    rule = "a mapping of names to strings"
    if not isinstance(metadata, Mapping):
        raise RefusedError(BadValue("metadata", rule, type(metadata).__name__))
    try:
        pairs: list[tuple[object, object]] = list(metadata.items())  # pyright: ignore[reportUnknownArgumentType] # checked below
    except Exception as error:  # a caller's mapping may raise anything
        reason = f"a mapping that raised {type(error).__name__}"
        raise RefusedError(BadValue("metadata", rule, reason)) from error
    return tuple(Entry(label(name, "metadata"), label(value, "metadata")) for name, value in pairs)


def where_from(where: object) -> Where:
    """Converts what a list selects agents by."""
    if where is None:
        return Where()
    if not isinstance(where, Where):
        raise RefusedError(BadValue("where", "a Where", type(where).__name__))
    return structs.replace(
        where, owner=label(where.owner, "where.owner"), label=label(where.label, "where.label")
    )


def agent_ids(value: object, name: str) -> list[AgentId]:
    """Converts a list of agent ids, or a single one. Leaves out values that cannot be ids."""
    ids = [value] if isinstance(value, str) else items(value, name)
    return [AgentId(each) for each in (key(one, name) for one in ids) if can_be_stored(each)]


def page_start(after: object) -> AgentSummary | None:
    """Converts the last agent of a page, after which the next page starts."""
    if after is None:
        return None
    if not isinstance(after, AgentSummary):
        raise RefusedError(BadValue("after", "an agent from a list", type(after).__name__))
    agent = AgentId(key(after.agent, "after"))
    return AgentSummary(
        agent if can_be_stored(agent) else AgentId(""),
        0,
        created=argument(as_moment, after.created, "after"),
        updated=argument(as_moment, after.updated, "after"),
    )


def cursor(after: object) -> Cursor | None:
    """Converts the cursor after which a tail continues."""
    if after is None:
        return None
    if not isinstance(after, Cursor):
        raise RefusedError(BadValue("after", "a cursor from a tail", type(after).__name__))
    place = partial(as_integer, minimum=0, maximum=2**62)
    return Cursor(argument(place, after.events, "after"), argument(place, after.position, "after"))


def event_ref(ref: object) -> EventRef | None:
    """Converts the position of an event; None if no log can contain it."""
    if not isinstance(ref, EventRef):
        raise RefusedError(BadValue("ref", "the position of an event", type(ref).__name__))
    agent, version = key(ref.agent, "ref"), argument(as_integer, ref.version, "ref")
    return EventRef(AgentId(agent), version) if can_be_stored(agent) and version > 0 else None


def canonical(value: object, name: str) -> str:
    """Returns the value as JSON, the same text for equal values.

    >>> canonical({"top_p": 1, "temperature": 0}, "params")
    '{"temperature":0,"top_p":1}'
    """
    try:
        return msgspec.json.encode(value, order="deterministic").decode()
    except Exception:  # an object of another program may raise anything
        rule = "something that can be serialized as JSON"
        raise RefusedError(BadValue(name, rule, type(value).__name__)) from None


_Value = TypeVar("_Value")


def reader_of(kind: type[_Value]) -> Callable[[str], _Value]:
    """Returns what reads a reply in JSON as a value of this type."""
    return msgspec.json.Decoder(kind).decode


def with_schema(params: TurnParams | None, kind: type[Any]) -> TurnParams:
    """Returns the parameters with the JSON Schema of this type for the answer.

    Raises `RefusedError` for a type that is not an object in JSON.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Forecast:
    ...     city: str
    >>> with_schema(None, Forecast).output_schema
    '{"title":"Forecast","type":"object","properties":{"city":{"type":"string"}},"required":\
["city"],"additionalProperties":false}'
    """
    try:
        (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    except (TypeError, RecursionError):
        root, parts = {}, {}
    name = str(root.get("$ref", "")).rpartition("/")[2]
    schema = parts.pop(name, root)
    if schema.get("type") != "object":
        rule = "a dataclass, a TypedDict or a msgspec struct"
        given = cast("object", kind)
        name = given.__name__ if isinstance(given, type) else type(given).__name__
        raise RefusedError(BadValue("output", rule, name))
    schema.pop("description", None)
    schema.setdefault("additionalProperties", False)
    if parts:
        schema["$defs"] = parts
    text = msgspec.json.encode(schema).decode()
    return structs.replace(params or TurnParams(), output_schema=text)
