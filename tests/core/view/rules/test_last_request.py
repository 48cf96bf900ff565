"""What the user asked last is in view word for word, until a bare clear."""

from sapwood.core.commands import Clear, Compact
from sapwood.core.view.rules.last_request import LastRequest
from tests.core.speaking import conversation, does
from tests.core.view.requests import broken, model, request, user


def test_a_request_with_the_newest_words_keeps_it() -> None:
    world, agent = conversation(2)
    state, live = world.states[agent], world.lives[agent]
    assert broken(LastRequest(), world.request(agent), state, live) == []
    assert broken(LastRequest(), request(user("so: ask 2")), state, live) == []


def test_older_words_may_be_missing() -> None:
    world, agent = conversation(2)
    state, live = world.states[agent], world.lives[agent]
    assert broken(LastRequest(), request(user("ask 2")), state, live) == []


def test_a_request_without_them_breaks_it() -> None:
    world, agent = conversation(2)
    state, live = world.states[agent], world.lives[agent]
    assert broken(LastRequest(), request(user("ask 1")), state, live) == ["not in view: 'ask 2'"]


def test_words_in_the_models_mouth_break_it() -> None:
    world, agent = conversation(1)
    state, live = world.states[agent], world.lives[agent]
    shown = request(user("hello"), model("ask 1"))
    assert broken(LastRequest(), shown, state, live) == ["not in view: 'ask 1'"]


def test_carried_words_count() -> None:
    world, agent = conversation(1)
    does(world, Compact(agent, "Numbers."))
    state, live = world.states[agent], world.lives[agent]
    assert broken(LastRequest(), world.request(agent), state, live) == []
    assert broken(LastRequest(), request(user("Numbers.")), state, live) != []


def test_after_a_clear_there_is_nothing_to_keep() -> None:
    world, agent = conversation(1)
    does(world, Clear(agent))
    state, live = world.states[agent], world.lives[agent]
    assert broken(LastRequest(), request(), state, live) == []
