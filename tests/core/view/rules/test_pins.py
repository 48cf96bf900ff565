"""Pins are in every request, whatever is trimmed."""

from sapwood.core.commands import AddPin
from sapwood.core.view.request import Block
from sapwood.core.view.rules.pins import PinsInView
from tests.core.speaking import conversation, does
from tests.core.view.requests import broken, request


def test_a_request_with_every_pin_keeps_it() -> None:
    world, agent = conversation()
    does(world, AddPin(agent, "rule", "x"))
    state, live = world.states[agent], world.lives[agent]
    assert broken(PinsInView(), world.request(agent), state, live) == []


def test_a_missing_pin_breaks_it() -> None:
    world, agent = conversation()
    does(world, AddPin(agent, "rule", "x"))
    state, live = world.states[agent], world.lives[agent]
    assert broken(PinsInView(), request(), state, live) == ["pin 'rule' is missing"]


def test_a_pin_with_other_words_breaks_it() -> None:
    world, agent = conversation()
    does(world, AddPin(agent, "rule", "x"))
    shown = request(system=(Block("pin", "rule", "y"),))
    state, live = world.states[agent], world.lives[agent]
    assert broken(PinsInView(), shown, state, live) == ["pin 'rule' is missing"]


def test_a_pin_as_a_mere_system_prompt_breaks_it() -> None:
    world, agent = conversation()
    does(world, AddPin(agent, "rule", "x"))
    shown = request(system=(Block("system", "rule", "x"),))
    state, live = world.states[agent], world.lives[agent]
    assert broken(PinsInView(), shown, state, live) == ["pin 'rule' is missing"]
