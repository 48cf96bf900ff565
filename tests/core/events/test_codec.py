"""Events to bytes and back: nothing is lost, nothing long is stored twice."""

import hashlib
import json
from typing import get_args

import pytest
from hypothesis import given

from sapwood.core.content import Text, ToolCall
from sapwood.core.events import Event, ReplyAdded, ToolFinished, TurnStarted, UnreadableEvent
from sapwood.core.events.codec import LARGE, decode, encode
from tests.core.events.examples import EXAMPLES, NAMES, any_event

KINDS = [kind for kind in get_args(Event) if kind is not UnreadableEvent]


def test_there_is_an_example_of_every_kind() -> None:
    assert {type(event) for event in EXAMPLES} == set(KINDS)


def test_every_kind_has_a_name_of_its_own() -> None:
    names = [kind.kind for kind in KINDS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("event", EXAMPLES, ids=NAMES)
def test_every_example_comes_back(event: Event) -> None:
    encoded = encode(event)
    assert decode(encoded.kind, encoded.data, encoded.contents) == event


@given(any_event())
def test_every_event_comes_back(event: Event) -> None:
    encoded = encode(event)
    assert decode(encoded.kind, encoded.data.encode(), encoded.contents) == event
    assert encode(event) == encoded


@given(any_event())
def test_long_texts_are_kept_apart_under_their_hash(event: Event) -> None:
    encoded = encode(event)
    for digest, text in encoded.contents.items():
        assert len(text) >= LARGE
        assert hashlib.sha256(text.encode()).hexdigest() == digest
        assert text not in encoded.data


def test_a_text_is_long_from_so_many_characters_on() -> None:
    assert encode(ToolFinished("1", "x" * (LARGE - 1))).contents == {}
    assert list(encode(ToolFinished("1", "x" * LARGE)).contents.values()) == ["x" * LARGE]


def test_many_short_texts_stay_where_they_are() -> None:
    parts = tuple(Text("short " * 20) for _ in range(100))
    encoded = encode(ReplyAdded(parts))
    assert encoded.contents == {}
    assert len(encoded.data) > LARGE


def test_the_same_long_text_is_kept_once() -> None:
    long = "y" * 10_000
    encoded = encode(ReplyAdded((Text(long), ToolCall("1", "write", long))))
    assert list(encoded.contents.values()) == [long]
    assert len(encoded.data) < 400


def test_a_text_that_looks_like_a_reference_is_a_text() -> None:
    trap = json.dumps({"$content": "0" * 64})
    event = TurnStarted(None, (Text(trap), Text("x" * LARGE)))
    encoded = encode(event)
    assert decode(encoded.kind, encoded.data, encoded.contents) == event


def test_a_missing_text_is_an_error_and_never_an_empty_one() -> None:
    encoded = encode(ReplyAdded((Text("x" * LARGE), Text("y" * LARGE))))
    contents = dict(list(encoded.contents.items())[:1])
    event = decode(encoded.kind, encoded.data, contents)
    assert isinstance(event, UnreadableEvent)
    assert event.reason == "part of its text is missing"


def test_an_unknown_kind_was_written_by_a_newer_sapwood() -> None:
    event = decode("moon.landed", '{"where":"sea"}')
    assert isinstance(event, UnreadableEvent)
    assert event.newer
    assert (event.kind, event.data) == ("moon.landed", b'{"where":"sea"}')


@pytest.mark.parametrize(
    "data", ["", "nonsense", "{}", '{"call":7}', '{"call":"1', "[" * 5000, b"\xff\xfe"]
)
def test_what_is_damaged_says_why_it_cannot_be_read(data: str | bytes) -> None:
    event = decode("tool.started", data)
    assert isinstance(event, UnreadableEvent)
    assert event.reason
    assert not event.newer


def test_what_cannot_be_read_is_encoded_as_it_was_stored() -> None:
    event = decode("moon.landed", '{"where":"sea"}')
    encoded = encode(event)
    assert (encoded.kind, encoded.data) == ("moon.landed", '{"where":"sea"}')
    assert decode(encoded.kind, encoded.data) == event


def test_an_unknown_field_is_passed_over() -> None:
    assert decode("tool.started", '{"call":"1","novelty":true}') == decode(
        "tool.started", '{"call":"1"}'
    )
