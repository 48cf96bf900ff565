"""How many conversations a server keeps open: of one space, and of all."""

import pytest

from sapwood.core.ids import AgentId
from sapwood_server import served_space
from tests.server.serving import Served


def test_the_conversations_that_stay_open_are_counted_over_all_spaces(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_space, "_TIMELINES", 2)
    monkeypatch.setattr(served_space, "_ALL_TIMELINES", 3)
    first, second = served.spaces.get("first"), served.spaces.get("second")
    kept = first.timeline(AgentId("a"))
    assert first.timeline(AgentId("a")) is kept
    for agent in ("b", "c"):  # the space has too many
        first.timeline(AgentId(agent))
    reopened = first.timeline(AgentId("a"))
    assert reopened is not kept
    for agent in ("a", "b"):  # all spaces have too many
        second.timeline(AgentId(agent))
    assert first.timeline(AgentId("a")) is reopened
    last = second.timeline(AgentId("b"))
    first.timeline(AgentId("b"))
    assert second.timeline(AgentId("b")) is last
    assert second.timeline(AgentId("a")) is second.timeline(AgentId("a"))


async def test_a_space_that_is_closed_keeps_none_open(served: Served) -> None:
    space = served.spaces.get("moved")
    kept = space.timeline(AgentId("a"))
    await space.close()
    assert space.timeline(AgentId("a")) is not kept
