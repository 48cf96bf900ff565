"""The values of a log: appends that fit, cursors, summaries of agents."""

import pytest
from msgspec import structs

from sapwood.core.commands import CompleteTurn, Kill, Send, StartAgent
from sapwood.core.events import HUMAN, PinRemoved, Recorded
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import AgentSummary, Append, Cursor, summary_of
from sapwood.core.settings import Settings, Workspace
from sapwood.core.token_count import Count
from sapwood.testing import CoreHarness
from tests.core.speaking import does, opens

A, B = AgentId("a"), AgentId("b")


def event(version: int, agent: AgentId = A) -> Recorded:
    """An event at this version."""
    return Recorded(agent, version, PinRemoved("x"), 0, HUMAN, CommandId("c"))


def test_events_that_follow_the_expected_version_are_taken() -> None:
    append = Append(A, 3, (event(4), event(5)), AgentSummary(A, 5))
    assert structs.asdict(append)["expected"] == 3


@pytest.mark.parametrize(
    "events", [(event(5),), (event(4), event(6)), (event(4), event(4)), (event(4, B),), (event(3),)]
)
def test_gaps_doubles_and_other_agents_are_not(events: tuple[Recorded, ...]) -> None:
    with pytest.raises(ValueError, match="do not follow 3"):
        Append(A, 3, events, AgentSummary(A, 3 + len(events)))


@pytest.mark.parametrize("summary", [AgentSummary(A, 3), AgentSummary(A, 5), AgentSummary(B, 4)])
def test_the_summary_must_be_of_the_last_event(summary: AgentSummary) -> None:
    with pytest.raises(ValueError, match="not of version 4"):
        Append(A, 3, (event(4),), summary)


def test_cursors_are_ordered() -> None:
    assert Cursor() < Cursor(1) < Cursor(2)


# Summaries of agents


def test_the_summary_is_what_the_state_says() -> None:
    world = CoreHarness()
    does(world, StartAgent(A, "lead", Settings("gpt-5"), Workspace("project")))
    does(world, Send(A, "m1", "Look."))
    assert summary_of(world.states[A], Count(12, exact=False)) == AgentSummary(
        agent=A,
        version=2,
        status="running",
        name="lead",
        parent=None,
        model="gpt-5",
        folder="project",
        created=1_000,
        updated=2_000,
        tokens=12,
        exact=False,
        unread=1,
        working=False,
    )


def test_an_agent_with_an_unanswered_prompt_has_work_to_do_as_long_as_it_lives() -> None:
    world = CoreHarness()
    agent = world.start()
    nothing = Count(0, exact=True)
    opens(world, agent)
    assert summary_of(world.states[agent], nothing).working
    does(world, CompleteTurn(agent))
    assert not summary_of(world.states[agent], nothing).working
    opens(world, agent)
    does(world, Kill(agent))
    summary = summary_of(world.states[agent], nothing)
    assert (summary.status, summary.working) == ("killed", False)
