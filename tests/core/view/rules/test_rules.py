"""All rules together: what is checked before a model call."""

from sapwood.core.content import Text
from sapwood.core.view import check
from sapwood.core.view.rules import RULES
from tests.core.speaking import conversation, opens
from tests.core.view.requests import CALL, model, request, user


def test_the_view_keeps_them_all() -> None:
    world, agent = conversation(2)
    opens(world, agent)
    assert check(world.request(agent), world.states[agent], world.lives[agent]) == []


def test_every_fault_is_told() -> None:
    world, agent = conversation(1)
    faults = check(request(model(CALL), user(Text(""))), world.states[agent], world.lives[agent])
    assert len(faults) == 4


def test_each_rule_is_there_once() -> None:
    assert len({type(rule) for rule in RULES}) == len(RULES) == 5
