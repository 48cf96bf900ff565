"""What goes into a log: appends that fit, and nothing else."""

import pytest
from msgspec import structs

from sapwood.core.events import HUMAN, PinRemoved, Recorded
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log import Append, Cursor, Facts

A, B = AgentId("a"), AgentId("b")


def event(version: int, agent: AgentId = A) -> Recorded:
    """An event at this version."""
    return Recorded(agent, version, PinRemoved("x"), 0, HUMAN, CommandId("c"))


def test_events_that_follow_the_expected_version_are_taken() -> None:
    append = Append(A, 3, (event(4), event(5)), Facts(A, 5))
    assert structs.asdict(append)["expected"] == 3


@pytest.mark.parametrize(
    "events", [(event(5),), (event(4), event(6)), (event(4), event(4)), (event(4, B),), (event(3),)]
)
def test_gaps_doubles_and_other_agents_are_not(events: tuple[Recorded, ...]) -> None:
    with pytest.raises(ValueError, match="do not follow 3"):
        Append(A, 3, events, Facts(A, 3 + len(events)))


@pytest.mark.parametrize("facts", [Facts(A, 3), Facts(A, 5), Facts(B, 4)])
def test_facts_must_be_of_the_last_event(facts: Facts) -> None:
    with pytest.raises(ValueError, match="not of version 4"):
        Append(A, 3, (event(4),), facts)


def test_cursors_are_ordered() -> None:
    assert Cursor() < Cursor(0, 1) < Cursor(1) < Cursor(1, 1)
