"""The live path: walked out of the logs, or followed event by event, it is the same."""

import pytest

from sapwood.core.commands import (
    AddPin,
    AddReply,
    Clear,
    Compact,
    CompleteTurn,
    Fork,
    KeepLast,
    ReadMail,
    RecordTurn,
    Rewind,
    Send,
    SetMark,
    StartTurn,
    Undo,
)
from sapwood.core.content import RecordedReply, Text
from sapwood.core.context import ROOT, Context
from sapwood.core.ids import AgentId, EventRef, TurnRef
from sapwood.core.live_path import EMPTY, LivePath, Slice, Walk, follow, inherited
from sapwood.core.settings import Settings
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does, opens, said

A = AgentId("a")


class Reads:
    """Walks through the logs of a world and remembers what was read."""

    def __init__(self, world: CoreHarness) -> None:
        self.world = world
        self.slices: list[Slice] = []

    def walk(self, context: Context) -> LivePath:
        """The path of this context."""
        walk = Walk(context)
        while (wanted := walk.wanted()) is not None:
            self.slices.append(wanted)
            walk.feed(self.world.logs[wanted.agent][wanted.first - 1 : wanted.last])
        return walk.live()

    @property
    def events(self) -> int:
        """How many events were read."""
        return sum(read.last - read.first + 1 for read in self.slices)


def test_an_empty_context_reads_nothing() -> None:
    reads = Reads(CoreHarness())
    assert reads.walk(ROOT) == EMPTY
    assert reads.slices == []


def test_a_context_without_live_turns_reads_no_turn() -> None:
    world, agent = conversation(50)
    does(world, Clear(agent))
    reads = Reads(world)
    assert reads.walk(world.states[agent].context).turns == ()
    assert reads.slices == []


def test_a_path_is_read_in_few_strides_and_little_more_than_it() -> None:
    world, agent = conversation(1_000)
    reads = Reads(world)
    live = reads.walk(world.states[agent].context)
    assert len(live.turns) == 1_000
    assert len(reads.slices) < 10
    assert reads.events < 1.2 * len(world.logs[agent])


def test_what_was_left_behind_is_not_read() -> None:
    world, agent = conversation(1_000)
    does(world, KeepLast(agent, 5))
    reads = Reads(world)
    assert len(reads.walk(world.states[agent].context).turns) == 5
    assert reads.events <= 64


def test_a_turn_longer_than_a_stride_is_read_whole() -> None:
    world, agent = conversation(2)
    opens(world, agent)
    for _ in range(3_000):
        does(world, AddReply(agent, (Text("and"),)))
    does(world, CompleteTurn(agent))
    world.turn(agent, "ask", "answer")
    assert world.read_live(agent) == world.lives[agent]


def test_other_facts_between_turns_and_inside_them_are_passed_over() -> None:
    world, agent = conversation()
    for number in range(100):
        does(world, Send(agent, f"m{number}", "Look."))
        opens(world, agent, f"ask {number}")
        does(world, AddPin(agent, f"p{number % 9}", f"x{number}"))
        does(world, CompleteTurn(agent))
    assert world.read_live(agent) == world.lives[agent]
    assert len(world.lives[agent].turns) == 100


def test_side_branches_are_jumped_over() -> None:
    world, agent = conversation(3)
    for round_ in range(20):
        does(world, SetMark(agent, "HERE"))
        for number in range(10):
            world.turn(agent, f"aside {number}", "x")
        does(world, Rewind(agent, "HERE"))
        world.turn(agent, f"main {round_}", "y")
    reads = Reads(world)
    assert reads.walk(world.states[agent].context) == world.lives[agent]
    assert said(world, agent)[6::2] == [f"main {round_}" for round_ in range(20)]


def test_long_side_branches_are_not_read() -> None:
    world, agent = conversation(3)
    for round_ in range(10):
        does(world, SetMark(agent, "HERE"))
        for number in range(300):
            world.turn(agent, f"aside {number}", "x")
        does(world, Rewind(agent, "HERE"))
        world.turn(agent, f"main {round_}", "y")
    reads = Reads(world)
    assert reads.walk(world.states[agent].context) == world.lives[agent]
    assert reads.events < 0.1 * len(world.logs[agent])


def test_a_path_goes_on_in_the_parents_log_up_to_the_fork() -> None:
    world, agent = conversation(3)
    does(world, Fork(agent, A))
    for number in range(200):
        world.turn(agent, f"later {number}", "x")
    world.turn(A, "ask 4", "answer 4")
    assert [turn.agent for turn in world.read_live(A).turns] == [agent, agent, agent, A]


def test_a_chain_of_thousands_of_forks_is_walked_to_its_root() -> None:
    world, parent = conversation(1, Settings("scripted", cap=0))
    for number in range(1_500):
        child = AgentId(f"c{number}")
        does(world, Fork(parent, child))
        if number % 3:
            does(
                world, RecordTurn(child, (Text(f"ask {number}"),), (RecordedReply((Text("yes"),)),))
            )
        parent = child
    reads = Reads(world)
    live = reads.walk(world.states[parent].context)
    assert len(live.turns) == 1_001
    assert live == world.lives[parent]
    assert reads.events < 5 * len(live.turns)


def test_summary_and_carried_request_are_fetched_from_where_they_stand() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "Numbers."))
    does(world, Fork(agent, A))
    does(world, Fork(A, child := AgentId("child")))
    live = Reads(world).walk(world.states[child].context)
    assert live.summary is not None
    assert live.summary.text == "Numbers."
    assert live.request == (Text("ask 2"),)


def test_where_the_head_is_not_on_the_path_all_of_it_is_in_view() -> None:
    """As when the events that led to the head cannot be read."""
    world, agent = conversation(2)
    tip = world.states[agent].context.tip
    assert len(Reads(world).walk(Context(tip, TurnRef(A, 1, 2))).turns) == 2


def test_a_slice_without_the_turn_is_a_broken_log() -> None:
    world, agent = conversation(2)
    walk = Walk(world.states[agent].context)
    with pytest.raises(ValueError, match="does not hold the turn"):
        walk.feed(world.logs[agent][:2])


# Following


def test_growth_and_forward_moves_are_followed_and_jumps_are_not() -> None:
    world, agent = conversation(2)
    does(world, SetMark(agent, "HERE"))
    commands = (
        (StartTurn(agent, (Text("ask 3"),)), True),
        (CompleteTurn(agent), True),
        (KeepLast(agent, 1), True),
        (RecordTurn(agent, (Text("ask 4"),)), True),
        (Clear(agent), True),
        (Undo(agent), False),
        (Compact(agent, "Numbers."), False),
        (Undo(agent), False),
    )
    for command, is_followed in commands:
        live: LivePath | None = world.lives[agent]
        known = len(world.logs[agent])
        does(world, command)
        context = world.states[agent].context
        for recorded in world.logs[agent][known:]:
            live = follow(live, recorded, context) if live else None
        assert (live is not None) == is_followed, command
        assert live is None or live == world.read_live(agent)


def test_a_path_is_inherited_where_all_of_it_is_at_hand() -> None:
    world, agent = conversation(3)
    live = world.lives[agent]
    first, second, third = live.turns
    assert inherited(live, live.context) is live
    shorter = inherited(live, Context(third.ref, first.ref))
    assert shorter is not None
    assert shorter.turns == (second, third)
    assert inherited(live, Context(third.ref, third.ref)) == LivePath(Context(third.ref, third.ref))


def test_a_path_that_is_elsewhere_must_be_read() -> None:
    world, agent = conversation(3)
    live = world.lives[agent]
    first, second, third = live.turns
    elsewhere = TurnRef(A, 1, 2)
    assert inherited(live, Context(second.ref)) is None
    assert inherited(live, Context(third.ref, elsewhere)) is None
    assert inherited(live, Context(third.ref, None, EventRef(A, 3))) is None
    assert inherited(live, Context(third.ref, first.ref, request=EventRef(A, 3))) is None
    does(world, KeepLast(agent, 1))
    assert inherited(world.lives[agent], Context(third.ref)) is None


def test_the_carried_request_is_found_among_the_turns() -> None:
    world, agent = conversation(1)
    does(world, Send(agent, "m1", "Look."))
    does(world, ReadMail(agent))
    does(world, RecordTurn(agent, ()))
    does(world, KeepLast(agent, 1))
    assert world.lives[agent].request == (Text("ask 1"),)
    assert world.lives[agent] == world.read_live(agent)
