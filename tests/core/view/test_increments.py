"""A request that extends the one before is built, checked and hashed from it, with one result."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapwood
from sapwood.core.content import Text, ToolCall
from sapwood.core.view import Block, Message, Request, ToolResult, build, request_rules
from sapwood.core.view import request as requests
from sapwood.core.view.request import digest


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    build._newest.clear()  # pyright: ignore[reportPrivateUsage]
    requests._newest.clear()  # pyright: ignore[reportPrivateUsage]
    request_rules._sound.clear()  # pyright: ignore[reportPrivateUsage]


def whole(request: Request) -> str:
    encoded = msgspec.json.Encoder(order="deterministic").encode(request)
    return hashlib.sha256(encoded).hexdigest()


ACTS = ("turn", "open", "mark", "clear 1", "clear 2", "rewind", "undo", "failed")


@given(st.lists(st.sampled_from(ACTS), max_size=14))
def test_a_request_is_the_same_from_the_one_before_and_from_nothing(acts: list[str]) -> None:
    forget()
    with sapwood.open_sync(":memory:") as db:
        agent = db.start("demo", model="gpt-5", system="Be brief.", pins={"a": "A rule."})
        for number, act in enumerate(acts):
            match act:
                case "turn":
                    agent.record(f"Question {number}?", f"Answer {number}.")
                case "open" | "failed":
                    with suppress(ValueError), agent.turn(f"Open {number}?") as turn:
                        turn.call()
                        if act == "failed":
                            raise ValueError("the program that runs the turn fails")
                        turn.reply("Done.")
                case "mark":
                    agent.run_command(f"/mark m{number}")
                case _:
                    agent.run_command(f"/{act}")
            request = agent.request()
            known = digest(request)
            forget()
            assert agent.request() == request
            assert known == digest(request) == whole(request)
            digest(request)


def message(number: int, size: int) -> Message:
    role = "assistant" if number % 2 else "user"
    return Message(role, (Text(f"{number} " + "x" * size),))


@given(
    st.lists(
        st.tuples(st.sampled_from(["gpt", "claude"]), st.integers(0, 9), st.integers(0, 3)),
        max_size=8,
    )
)
def test_a_digest_is_that_of_all_bytes(sent: list[tuple[str, int, int]]) -> None:
    shared = [message(number, 5) for number in range(9)]
    for model, count, kind in sent:
        system = (Block("system", "", "Be brief."),) if kind else ()
        tail = [message(count, kind)] if kind > 1 else []
        request = Request(model, system, (*shared[:count], *tail))
        assert digest(request) == whole(request)
        assert digest(request) == whole(request)


def test_a_fault_after_a_valid_beginning_is_found() -> None:
    with sapwood.open_sync(":memory:") as db:
        agent = db.start("demo", model="gpt-5")
        for number in range(3):
            agent.record(f"Question {number}?", f"Answer {number}.")
        connection_state, request = agent.state(), agent.request()
        live = build._newest[0].live  # pyright: ignore[reportPrivateUsage]
        assert request_rules.check(request, connection_state, live) == []
        tails = (
            Message("assistant", (Text("Twice."),)),
            Message("user", (ToolResult("c1", "run", "done"),)),
            Message("user", (Text(" "),)),
        )
        for tail in tails:
            wrong = Request(request.model, request.system, (*request.messages, tail))
            assert request_rules.check(wrong, connection_state, live)
        calls = Message("assistant", (ToolCall("c1", "run"),))
        wrong = Request(request.model, request.system, (*request.messages[:-1], calls))
        assert request_rules.check(wrong, connection_state, live)


def test_a_changed_front_before_the_same_turns_is_seen() -> None:
    with sapwood.open_sync(":memory:") as db:
        agent = db.start("demo", model="gpt-5")
        for number in range(3):
            agent.record(f"Question {number}?", f"Answer {number}.")
        agent.clear(1)
        before = agent.request()
        agent.run_command("/load 1")
        loaded = agent.request()
        assert "Question 0?" in loaded.messages[0].text
        assert loaded.messages[1:] == before.messages[1:]
        agent.clear(1)
        assert agent.request() == before
