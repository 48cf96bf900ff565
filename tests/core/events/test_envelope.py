"""The envelope: whose log, which place, who, when."""

import pytest

from sapwood.core.events import HUMAN, Actor, PinRemoved, Recorded
from sapwood.core.ids import AgentId, CommandId, EventRef


@pytest.mark.parametrize(
    "actor",
    [HUMAN, Actor("human", "ada@example.org"), Actor("model", "a:b:c"), Actor("system")],
    ids=str,
)
def test_an_actor_is_written_and_read(actor: Actor) -> None:
    assert Actor.parse(str(actor)) == actor


def test_nobody_else_acts() -> None:
    with pytest.raises(ValueError, match="unknown actor: 'ghost:x'"):
        Actor.parse("ghost:x")


def test_an_event_knows_its_place_its_kind_and_its_time() -> None:
    at = 1_700_000_000_123_456
    recorded = Recorded(AgentId("a"), 7, PinRemoved("x"), at, HUMAN, CommandId("c"))
    assert recorded.ref == EventRef(AgentId("a"), 7)
    assert str(recorded.ref) == "a:7"
    assert recorded.kind == "pin.removed"
    assert recorded.when.isoformat() == "2023-11-14T22:13:20.123456+00:00"
