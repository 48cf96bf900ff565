"""No message is empty and no text is blank: providers refuse both."""

import pytest

from sapwood.core.content import Thinking
from sapwood.core.view.request import Block, ToolResult
from sapwood.core.view.rules.substance import Substance
from tests.core.view.requests import CALL, RESULT, broken, model, request, user


def test_messages_that_say_something_keep_it() -> None:
    system = (Block("system", "", "Be brief."), Block("pin", "rule", "x"))
    shown = request(user("a"), model(Thinking(""), CALL), user(RESULT), system=system)
    assert broken(Substance(), shown) == []


def test_an_empty_message_breaks_it() -> None:
    assert broken(Substance(), request(user())) == ["message 0 is empty"]


@pytest.mark.parametrize("blank", ["", " \n", "\u2003"])
def test_a_blank_text_breaks_it(blank: str) -> None:
    assert broken(Substance(), request(user("a", blank))) == ["message 0 holds a blank text"]


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_result_breaks_it(blank: str) -> None:
    shown = request(user("a"), model(CALL), user(ToolResult("1", "read", blank)))
    assert broken(Substance(), shown) == ["message 2 holds an empty result"]


def test_a_blank_pin_breaks_it() -> None:
    shown = request(user("a"), system=(Block("pin", "rule", " "),))
    assert broken(Substance(), shown) == ["the pin 'rule' is blank"]
