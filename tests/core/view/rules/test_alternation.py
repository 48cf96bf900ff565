"""The user speaks first, and the two sides take turns."""

from sapwood.core.view.rules.alternation import Alternation
from tests.core.view.requests import broken, model, request, user


def test_sides_that_take_turns_keep_it() -> None:
    assert broken(Alternation(), request(user("a"), model("b"), user("c"))) == []
    assert broken(Alternation(), request()) == []


def test_an_assistant_that_speaks_first_breaks_it() -> None:
    assert broken(Alternation(), request(model("b"), user("a"))) == ["the assistant speaks first"]


def test_two_messages_of_one_side_break_it() -> None:
    shown = request(user("a"), user("b"), model("c"), model("d"))
    assert broken(Alternation(), shown) == [
        "messages 0 and 1 are both of the user",
        "messages 2 and 3 are both of the assistant",
    ]
