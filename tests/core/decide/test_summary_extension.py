"""A summary that also has what the window moved out of view: when it is stored, and `/undo`."""

from sapwood.core.commands import Clear, Command, ExtendSummary, Redo, StartTurn, Undo
from sapwood.core.content import Text
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal, SummaryOutdated, SystemOnly, TurnIsOpen
from sapwood.core.settings import Settings
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does, refusal, said


def clipped() -> tuple[CoreHarness, AgentId]:
    """A conversation of which the window has moved at the end of the last turn."""
    world, agent = conversation(2, Settings(cap=290))
    world.turn(agent, "ask " + "and ask " * 33, "answer")
    assert world.states[agent].window_moved_at
    return world, agent


def extends(world: CoreHarness, command: Command) -> Refusal | None:
    done = world.do(command, SYSTEM)
    return done if isinstance(done, Refusal) else None


def longer(world: CoreHarness, agent: AgentId, text: str = "Older words.") -> ExtendSummary:
    return ExtendSummary(agent, text, world.states[agent].window_moved_at)


def test_the_summary_is_in_view_and_the_turns_stay_out() -> None:
    world, agent = clipped()
    before = said(world, agent)
    assert extends(world, longer(world, agent)) is None
    assert "Older words." in said(world, agent)[0]
    assert said(world, agent)[-1] == before[-1]
    assert len(world.states[agent].undo) == 1


def test_undo_brings_the_turns_and_the_former_summary_back() -> None:
    world, agent = clipped()
    extends(world, longer(world, agent, "First words."))
    once = world.request(agent)
    world.turn(agent, "ask " + "once more " * 26, "answer")
    full = world.request(agent)
    assert full != once
    extends(world, longer(world, agent, "All words."))
    extended = world.request(agent)
    assert "All words." in said(world, agent)[0]
    world.turn(agent, "ask", "answer")
    assert does(world, Undo(agent)).startswith("Undone: the move of the window.")
    assert "First words." in said(world, agent)[0]
    assert any("and ask" in text for text in said(world, agent))
    does(world, Redo(agent))
    assert "All words." in said(world, agent)[0]
    assert world.request(agent).messages[: len(extended.messages)] == extended.messages


def test_it_is_refused_if_the_context_moved_otherwise() -> None:
    world, agent = clipped()
    command = longer(world, agent)
    does(world, Clear(agent))
    assert extends(world, command) == SummaryOutdated()
    does(world, Undo(agent))
    assert extends(world, command) is None
    assert extends(world, command) == SummaryOutdated()


def test_it_is_refused_after_the_window_came_back() -> None:
    world, agent = clipped()
    command = longer(world, agent)
    does(world, Undo(agent))
    assert extends(world, command) == SummaryOutdated()


def test_it_is_refused_while_a_turn_is_open() -> None:
    world, agent = clipped()
    command = longer(world, agent)
    does(world, StartTurn(agent, (Text("ask"),)))
    assert isinstance(extends(world, command), TurnIsOpen)


def test_only_sapwood_itself_stores_one() -> None:
    world, agent = clipped()
    assert refusal(world, longer(world, agent)) == SystemOnly("ExtendSummary")
