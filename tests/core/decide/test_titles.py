"""The name of a conversation that nobody named: the beginning of its first prompt."""

from sapwood.core.commands import Rename, StartSuccessor
from sapwood.core.ids import AgentId
from sapwood.testing import CoreHarness
from tests.core.speaking import does

FRESH = AgentId("fresh")


def test_an_unnamed_conversation_is_named_after_its_first_prompt() -> None:
    world = CoreHarness()
    agent = world.start()
    world.turn(agent, "Fix the login.\nIt drops.", "Done.")
    world.turn(agent, "Thanks.", "You are welcome.")
    assert world.states[agent].name == "Fix the login. It drops."


def test_a_given_name_stays() -> None:
    world = CoreHarness()
    agent = world.start("demo")
    world.turn(agent, "Fix the login.", "Done.")
    assert world.states[agent].name == "demo"


def test_the_successor_of_a_titled_conversation_gets_a_title_of_its_own() -> None:
    world = CoreHarness()
    agent = world.start()
    world.turn(agent, "Fix the login.", "Done.")
    does(world, StartSuccessor(agent, FRESH))
    assert world.states[FRESH].name == ""
    world.turn(FRESH, "Write the notes.", "Done.")
    assert world.states[FRESH].name == "Write the notes."


def test_the_successor_of_a_named_conversation_keeps_the_name() -> None:
    world = CoreHarness()
    agent = world.start()
    world.turn(agent, "Fix the login.", "Done.")
    does(world, Rename(agent, "login"))
    does(world, StartSuccessor(agent, FRESH))
    assert world.states[FRESH].name == "login"
