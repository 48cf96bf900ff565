"""A long tool result is shown in part; what is left out can be had piece by piece."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.commands import (
    AddReply,
    CompleteTurn,
    FinishTool,
    MaskResults,
    RecordTurn,
    Rewind,
    SetMark,
)
from sapwood.core.content import RecordedReply, RecordedResult, Text, ToolCall
from sapwood.core.history_size import size_of
from sapwood.core.turn import MAX_SHOWN, Result, excerpt, shortened
from tests.core.speaking import conversation, does, opens, results

LONG = "".join(f"{number:06}\n" for number in range(20_000))


@pytest.mark.parametrize("length", [0, 1, MAX_SHOWN - 1, MAX_SHOWN])
def test_a_result_that_fits_is_shown_as_it_is(length: int) -> None:
    assert shortened("x" * length, "abc:7") == "x" * length


@given(st.integers(MAX_SHOWN + 1, 10 * MAX_SHOWN))
def test_a_long_one_shows_its_beginning_its_end_and_how_much_is_between(length: int) -> None:
    whole = (LONG * 3)[:length]
    shown = shortened(whole, "abc:7")
    first, line, last = re.split(r"\n(\[.* characters are left out here; recall .*\])\n", shown)
    assert whole.startswith(first)
    assert whole.endswith(last)
    assert len(first) + len(last) == MAX_SHOWN
    assert f"{length - MAX_SHOWN:,} of {length:,} characters" in line
    assert f"recall abc:7:{len(first)} shows" in line


def test_the_whole_can_be_had_in_excerpts() -> None:
    found, first = "", 0
    while True:
        piece = excerpt(LONG, "abc:7", first)
        assert len(shortened(piece, "abc:9")) == len(piece), "an excerpt is not shortened again"
        on = re.search(r"\n\[up to character .*; recall abc:7:(\d+) goes on\]$", piece)
        if on is None:
            assert found + piece == LONG
            return
        found += piece[: on.start()]
        first = int(on[1])


def test_a_request_shows_a_part_and_the_log_keeps_the_whole() -> None:
    world, agent = conversation()
    opens(world, agent, "read it")
    world.do(AddReply(agent, (ToolCall("1", "read"),)))
    does(world, FinishTool(agent, "1", LONG))
    (shown,) = results(world, agent)
    assert len(shown) < MAX_SHOWN + 200
    assert f"recall {agent}:4:" in shown
    turn = world.lives[agent].open
    assert turn is not None
    assert turn.items[-1] == Result(4, "1", LONG)
    assert size_of(turn, world.counter).tokens < MAX_SHOWN + 300


def test_it_does_not_change_what_was_sent_before() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    before = world.request(agent)
    opens(world, agent, "read it")
    world.do(AddReply(agent, (ToolCall("1", "read"),)))
    does(world, FinishTool(agent, "1", LONG))
    sent = world.request(agent).messages
    world.do(AddReply(agent, (Text("Read."),)))
    does(world, CompleteTurn(agent))
    assert world.request(agent).messages[: len(sent)] == sent
    does(world, Rewind(agent, "HERE"))
    assert world.request(agent) == before


def test_a_masked_result_is_a_stub_and_nothing_else() -> None:
    world, agent = conversation()
    opens(world, agent, "read it")
    world.do(AddReply(agent, (ToolCall("1", "read"),)))
    does(world, FinishTool(agent, "1", LONG))
    does(world, MaskResults(agent, 100))
    (shown,) = results(world, agent)
    assert shown.startswith(f"[masked: {len(LONG):,} characters from read;")


def test_a_result_in_a_turn_recorded_as_a_whole_is_found_with_the_turn() -> None:
    world, agent = conversation()
    items = (
        RecordedReply((ToolCall("1", "read"),)),
        RecordedResult("1", LONG),
        RecordedReply((Text("Read."),)),
    )
    does(world, RecordTurn(agent, (Text("read it"),), items))
    (shown,) = results(world, agent)
    assert f"recall {agent}:2 shows them" in shown
