"""Every tool call has its result in the next message, and every result its call."""

from sapwood.core.content import ToolCall
from sapwood.core.view.request import ToolResult
from sapwood.core.view.rules.pairing import Pairing
from tests.core.view.requests import CALL, RESULT, broken, model, request, user


def test_calls_with_their_results_keep_it() -> None:
    two, second = ToolCall("2", "read"), ToolResult("2", "read", "x")
    shown = request(user("a"), model(CALL, two), user(second, RESULT), model("done"))
    assert broken(Pairing(), shown) == []


def test_a_call_without_a_result_breaks_it() -> None:
    shown = request(user("a"), model(CALL), user("b"))
    assert broken(Pairing(), shown) == ["calls ['1'] are answered by results []"]


def test_a_last_call_without_a_result_breaks_it() -> None:
    assert broken(Pairing(), request(user("a"), model(CALL))) == ["calls ['1'] are never answered"]


def test_a_result_without_a_call_breaks_it() -> None:
    assert broken(Pairing(), request(user(RESULT))) == ["calls [] are answered by results ['1']"]


def test_a_result_too_late_breaks_it() -> None:
    shown = request(user("a"), model(CALL), user("b"), model("c"), user(RESULT))
    assert len(broken(Pairing(), shown)) == 2


def test_a_result_twice_breaks_it() -> None:
    shown = request(user("a"), model(CALL), user(RESULT, RESULT))
    assert len(broken(Pairing(), shown)) == 1
