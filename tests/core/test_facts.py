"""What a list shows of an agent without opening it."""

from sapwood.core.commands import CompleteTurn, Kill, Send, StartAgent
from sapwood.core.counting import Count
from sapwood.core.facts import facts_of
from sapwood.core.ids import AgentId
from sapwood.core.log import Facts
from sapwood.core.settings import Settings, Workspace
from sapwood.testing import World
from tests.core.speaking import does, opens

A = AgentId("a")


def test_facts_are_what_the_state_says() -> None:
    world = World()
    does(world, StartAgent(A, "lead", Settings("gpt-5"), Workspace("project")))
    does(world, Send(A, "m1", "Look."))
    assert facts_of(world.states[A], Count(12, exact=False)) == Facts(
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
    world = World()
    agent = world.start()
    nothing = Count(0, exact=True)
    opens(world, agent)
    assert facts_of(world.states[agent], nothing).working
    does(world, CompleteTurn(agent))
    assert not facts_of(world.states[agent], nothing).working
    opens(world, agent)
    does(world, Kill(agent))
    facts = facts_of(world.states[agent], nothing)
    assert (facts.status, facts.working) == ("killed", False)
