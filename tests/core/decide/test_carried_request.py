"""What the user asked last stays in view word for word, until a bare `/clear`."""

from sapwood.core.commands import (
    AddReply,
    Clear,
    Compact,
    CompleteTurn,
    Configure,
    Fork,
    KeepLast,
    ReadMail,
    Send,
    SetMark,
    StartTurn,
    Undo,
)
from sapwood.core.content import Text
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.view import check
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does, said

CARRIED = "[The user's last request before this point, verbatim]\n"


def wakes_up(world: CoreHarness, agent: AgentId, mail: str) -> None:
    """A turn that nobody asked for: mail alone woke the agent."""
    does(world, Send(agent, f"m{world.commands}", mail))
    does(world, ReadMail(agent))
    does(world, StartTurn(agent))
    does(world, AddReply(agent, (Text("noted"),)))
    does(world, CompleteTurn(agent))


def test_a_request_that_stays_in_view_is_not_said_twice() -> None:
    world, agent = conversation(3)
    does(world, KeepLast(agent, 1))
    assert said(world, agent) == ["ask 3", "answer 3"]


def test_a_request_whose_turn_leaves_is_carried() -> None:
    world, agent = conversation(1)
    wakes_up(world, agent, "red")
    does(world, KeepLast(agent, 1))
    assert said(world, agent)[0].startswith(f"{CARRIED}ask 1\n\n[Mail from")


def test_it_is_carried_over_several_trims() -> None:
    world, agent = conversation(1)
    wakes_up(world, agent, "red")
    does(world, KeepLast(agent, 1))
    wakes_up(world, agent, "green")
    does(world, Compact(agent, "Numbers."))
    wakes_up(world, agent, "blue")
    wakes_up(world, agent, "white")
    does(world, KeepLast(agent, 1))
    assert said(world, agent)[0].startswith(f"{CARRIED}ask 1\n\n[Mail from")


def test_the_window_carries_it() -> None:
    world, agent = conversation(1, Settings(model="scripted", cap=50))
    for mail in ("r" * 30, "g" * 30, "b" * 30):
        wakes_up(world, agent, mail)
    assert len(world.lives[agent].turns) == 1
    assert said(world, agent)[0].startswith(f"{CARRIED}ask 1")


def test_a_smaller_cap_carries_it() -> None:
    world, agent = conversation(1)
    wakes_up(world, agent, "red")
    does(world, Configure(agent, SettingsChange(cap=10)))
    assert said(world, agent)[0].startswith(f"{CARRIED}ask 1")


def test_a_newer_request_takes_its_place_at_the_next_trim() -> None:
    world, agent = conversation(1)
    wakes_up(world, agent, "red")
    does(world, KeepLast(agent, 1))
    world.turn(agent, "ask 2", "answer 2")
    does(world, Compact(agent, "Numbers."))
    assert said(world, agent)[0].endswith(f"{CARRIED}ask 2")


def test_only_the_users_own_words_are_carried() -> None:
    world, agent = conversation()
    does(world, Send(agent, "m1", "not the user's words"))
    does(world, ReadMail(agent))
    world.turn(agent, "ask 1", "answer 1")
    does(world, Compact(agent, "Numbers."))
    assert said(world, agent)[0].endswith(f"{CARRIED}ask 1")
    assert "not the user's words" not in said(world, agent)[0]


def test_every_text_of_the_request_is_there() -> None:
    world, agent = conversation()
    does(world, StartTurn(agent, (Text("look at this"), Text("and at that\n\n  as it is "))))
    does(world, CompleteTurn(agent))
    does(world, Compact(agent, "Things."))
    assert said(world, agent)[0].endswith("look at this\n\nand at that\n\n  as it is ")


def test_a_bare_clear_ends_it() -> None:
    world, agent = conversation(1)
    wakes_up(world, agent, "red")
    does(world, KeepLast(agent, 1))
    does(world, Clear(agent))
    assert said(world, agent) == []


def test_undo_puts_it_back_where_it_was() -> None:
    world, agent = conversation(1)
    wakes_up(world, agent, "red")
    before = world.request(agent)
    does(world, KeepLast(agent, 1))
    does(world, Undo(agent))
    assert world.request(agent) == before


def test_a_child_carries_what_its_parent_carries() -> None:
    world, agent = conversation(1)
    wakes_up(world, agent, "red")
    does(world, KeepLast(agent, 1))
    does(world, Fork(agent, child := AgentId("child")))
    assert world.request(child) == world.request(agent)
    assert check(world.request(child), world.states[child], world.lives[child]) == []


def test_a_child_from_a_mark_carries_nothing_from_before_it() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    wakes_up(world, agent, "red")
    does(world, KeepLast(agent, 1))
    does(world, Fork(agent, child := AgentId("child"), "HERE"))
    assert said(world, child)[0].startswith("[Mail from")
