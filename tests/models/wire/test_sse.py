"""Server-sent events are read alike, however the network cuts them, and never without bound."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.models.wire.sse import EventReader, ReplyTooLarge, ServerEvent

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20)
LINES = st.one_of(
    VALUES.map(lambda value: f"data: {value}"),
    VALUES.map(lambda value: f"data:{value}"),
    VALUES.map(lambda value: f"event: {value}"),
    VALUES.map(lambda value: f": {value}"),
    VALUES.map(lambda value: f"id: {value}"),
    VALUES.map(lambda value: f"unknown: {value}"),
    st.sampled_from(["", "data", "event"]),
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def plain(lines: list[str]) -> list[ServerEvent]:
    """The events of lines, by the words of the specification, without those without content."""
    events: list[ServerEvent] = []
    name, data = "", list[str]()
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if any(data):
                events.append(ServerEvent(name, "\n".join(data).encode()))
            name, data = "", []
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
    return events


@given(
    st.lists(st.tuples(LINES, ENDS), max_size=30),
    st.lists(st.integers(0, 2_000), max_size=20),
    st.booleans(),
)
def test_events_do_not_depend_on_where_the_bytes_are_cut(
    lines: list[tuple[str, str]], cuts: list[int], marked: bool
) -> None:
    raw = "".join(line + end for line, end in lines).encode()
    raw = b"\xef\xbb\xbf" + raw if marked and raw else raw
    places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    reader = EventReader()
    found = [event for start, end in pairwise(places) for event in reader.feed(raw[start:end])]
    # A CR and an LF of two lines that follow each other are one end.
    text = raw.removeprefix(b"\xef\xbb\xbf").decode()
    whole = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
    assert found == plain(whole)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(raw: bytes) -> None:
    EventReader().feed(raw)


def feed_all(reader: EventReader, pieces: list[bytes]) -> list[ServerEvent]:
    return [event for piece in pieces for event in reader.feed(piece)]


def test_one_byte_at_a_time_is_enough() -> None:
    raw = "\ufeffevent: a\r\ndata: ä\r\n\r\ndata: 2\n\n".encode()
    found = feed_all(EventReader(), [bytes([byte]) for byte in raw])
    assert found == [ServerEvent("a", "ä".encode()), ServerEvent("", b"2")]


def test_a_keep_alive_without_content_is_no_event() -> None:
    raw = b"event: ping\ndata:\n\ndata: \ndata\n\ndata: {}\n\ndata:\ndata: 1\n\n"
    assert EventReader().feed(raw) == [ServerEvent("", b"{}"), ServerEvent("", b"\n1")]


def test_an_event_without_an_end_is_not_returned() -> None:
    assert EventReader().feed(b"data: half\n") == []


@pytest.mark.parametrize("piece", [1, 7, 100])
def test_a_line_may_not_be_endless(piece: int) -> None:
    reader = EventReader(max_line=50)
    with pytest.raises(ReplyTooLarge, match="one line is longer than 50 bytes"):
        feed_all(reader, [b"x" * piece] * 100)


def test_a_long_line_in_one_piece_is_found_too() -> None:
    with pytest.raises(ReplyTooLarge, match="one line"):
        EventReader(max_line=50).feed(b"data: 1\n\ndata: " + b"x" * 60 + b"\n\n")


def test_a_reply_may_not_be_endless() -> None:
    reader = EventReader(max_reply=100)
    with pytest.raises(ReplyTooLarge, match="it is longer than 100 bytes"):
        feed_all(reader, [b": still here\n\n"] * 100)
