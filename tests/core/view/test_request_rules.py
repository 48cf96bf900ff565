"""The rules of requests: each finds the requests that break it and accepts the others."""

import pytest

from sapwood.core.commands import AddPin, Clear, Compact
from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import Request, check
from sapwood.core.view.request import Block, ToolResult
from sapwood.core.view.request_rules import (
    blank_parts,
    missing_pins,
    missing_request,
    repeated_roles,
    unpaired_calls,
)
from tests.core.speaking import conversation, does, opens
from tests.core.view.requests import CALL, RESULT, model, request, user

# All rules


def test_a_request_of_the_view_has_no_fault() -> None:
    world, agent = conversation(2)
    opens(world, agent)
    assert check(world.request(agent), world.states[agent], world.lives[agent]) == []


def test_all_faults_of_a_request_are_found() -> None:
    world, agent = conversation(1)
    faults = check(request(model(CALL), user(Text(""))), world.states[agent], world.lives[agent])
    assert len(faults) == 4


@pytest.mark.parametrize(
    ("faulty", "fault"),
    [
        (request(model("b"), user("ask 1")), "the first message is the assistant's"),
        (request(user("ask 1"), model(CALL)), "calls ['1'] are never answered"),
        (request(user("ask 1"), model("")), "message 1 holds a blank text"),
        (request(user("ask 1")), "pin 'rule' is missing"),
        (request(user("hello")), "not in view: 'ask 1'"),
    ],
)
def test_the_check_includes_each_rule(faulty: Request, fault: str) -> None:
    world, agent = conversation(1)
    does(world, AddPin(agent, "rule", "x"))
    assert fault in check(faulty, world.states[agent], world.lives[agent])


# Roles


def test_alternating_roles_are_accepted() -> None:
    assert repeated_roles(request(user("a"), model("b"), user("c"))) == []
    assert repeated_roles(request()) == []


def test_a_first_message_of_the_assistant_is_a_fault() -> None:
    faults = repeated_roles(request(model("b"), user("a")))
    assert faults == ["the first message is the assistant's"]


def test_two_messages_of_one_role_in_a_row_are_a_fault() -> None:
    assert repeated_roles(request(user("a"), user("b"), model("c"), model("d"))) == [
        "messages 0 and 1 are both of the user",
        "messages 2 and 3 are both of the assistant",
    ]


# Calls and results


def test_calls_with_their_results_are_accepted() -> None:
    two, second = ToolCall("2", "read"), ToolResult("2", "read", "x")
    shown = request(user("a"), model(CALL, two), user(second, RESULT), model("done"))
    assert unpaired_calls(shown) == []


def test_a_call_without_a_result_is_a_fault() -> None:
    shown = request(user("a"), model(CALL), user("b"))
    assert unpaired_calls(shown) == ["calls ['1'] are answered by results []"]


def test_a_last_call_without_a_result_is_a_fault() -> None:
    faults = unpaired_calls(request(user("a"), model(CALL)))
    assert faults == ["calls ['1'] are never answered"]


def test_a_result_without_a_call_is_a_fault() -> None:
    faults = unpaired_calls(request(user(RESULT)))
    assert faults == ["calls [] are answered by results ['1']"]


def test_a_result_in_a_later_message_is_a_fault() -> None:
    shown = request(user("a"), model(CALL), user("b"), model("c"), user(RESULT))
    assert len(unpaired_calls(shown)) == 2


def test_a_second_result_for_one_call_is_a_fault() -> None:
    shown = request(user("a"), model(CALL), user(RESULT, RESULT))
    assert len(unpaired_calls(shown)) == 1


# Blank parts


def test_messages_with_content_are_accepted() -> None:
    system = (Block("system", "", "Be brief."), Block("pin", "rule", "x"))
    shown = request(user("a"), model(Thinking(""), CALL), user(RESULT), system=system)
    assert blank_parts(shown) == []


def test_an_empty_message_is_a_fault() -> None:
    assert blank_parts(request(user())) == ["message 0 is empty"]


@pytest.mark.parametrize("blank", ["", " \n", "\u2003"])
def test_a_blank_text_is_a_fault(blank: str) -> None:
    assert blank_parts(request(user("a", blank))) == ["message 0 holds a blank text"]


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_result_is_a_fault(blank: str) -> None:
    shown = request(user("a"), model(CALL), user(ToolResult("1", "read", blank)))
    assert blank_parts(shown) == ["message 2 holds an empty result"]


def test_a_blank_pin_is_a_fault() -> None:
    shown = request(user("a"), system=(Block("pin", "rule", " "),))
    assert blank_parts(shown) == ["the pin 'rule' is blank"]


# Pins


def test_a_request_with_every_pin_is_accepted() -> None:
    world, agent = conversation()
    does(world, AddPin(agent, "rule", "x"))
    assert missing_pins(world.request(agent), world.states[agent].pins) == []


@pytest.mark.parametrize(
    "system",
    [(), (Block("pin", "rule", "y"),), (Block("system", "rule", "x"),)],
    ids=["absent", "other words", "not a pin"],
)
def test_a_missing_pin_is_a_fault(system: tuple[Block, ...]) -> None:
    world, agent = conversation()
    does(world, AddPin(agent, "rule", "x"))
    faults = missing_pins(request(system=system), world.states[agent].pins)
    assert faults == ["pin 'rule' is missing"]


# The last request


def test_a_request_with_the_last_user_request_is_accepted() -> None:
    world, agent = conversation(2)
    assert missing_request(world.request(agent), world.lives[agent]) == []
    assert missing_request(request(user("so: ask 2")), world.lives[agent]) == []


def test_an_older_user_request_may_be_missing() -> None:
    world, agent = conversation(2)
    assert missing_request(request(user("ask 2")), world.lives[agent]) == []


def test_a_missing_last_user_request_is_a_fault() -> None:
    world, agent = conversation(2)
    faults = missing_request(request(user("ask 1")), world.lives[agent])
    assert faults == ["not in view: 'ask 2'"]


def test_a_user_request_in_a_message_of_the_model_is_a_fault() -> None:
    world, agent = conversation(1)
    shown = request(user("hello"), model("ask 1"))
    assert missing_request(shown, world.lives[agent]) == ["not in view: 'ask 1'"]


def test_a_carried_user_request_is_accepted() -> None:
    world, agent = conversation(1)
    does(world, Compact(agent, "Numbers."))
    assert missing_request(world.request(agent), world.lives[agent]) == []
    assert missing_request(request(user("Numbers.")), world.lives[agent]) != []


def test_after_a_clear_no_user_request_is_missing() -> None:
    world, agent = conversation(1)
    does(world, Clear(agent))
    assert missing_request(request(), world.lives[agent]) == []
