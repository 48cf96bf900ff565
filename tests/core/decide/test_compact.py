"""`/compact`: a summary in place of the history, all of it or nothing."""

import pytest
from msgspec import structs

from sapwood.core.commands import (
    AddReply,
    CallModel,
    Clear,
    Command,
    Compact,
    CompleteTurn,
    DeferCompact,
    DropSummary,
    Fork,
    KeepLast,
    Kill,
    Redo,
    SetMark,
    Undo,
)
from sapwood.core.content import Text, Usage
from sapwood.core.context import Mask
from sapwood.core.decide import Accepted, Decision
from sapwood.core.events import HUMAN, SYSTEM, Actor, ContextSummarized, ContextTrimmed
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.refusals import EmptyText, HumanOnly, SummaryOutdated, TurnIsOpen
from sapwood.core.view import view
from sapwood.core.view.request import digest
from sapwood.testing import CoreHarness
from tests.core.speaking import (
    MODEL,
    by_model,
    conversation,
    does,
    kinds,
    last_event,
    marked,
    opens,
    refusal,
    said,
)

AGENT = AgentId("agent1")


def test_a_summary_stands_where_the_history_was() -> None:
    world, agent = conversation(2)
    assert does(world, Compact(agent, "Numbers.")) == "Compacted 2 turns into a summary."
    assert said(world, agent) == [
        "[Summary of the conversation before this point]\nNumbers.\n\n"
        "[The user's last request before this point, verbatim]\nask 2"
    ]


def test_the_ledger_is_beside_the_summary() -> None:
    world, agent = conversation(1)
    does(world, Compact(agent, "Numbers.", ledger="changed: a.py"))
    assert "Numbers.\n\n[From the log]\nchanged: a.py" in said(world, agent)[0]


def test_the_next_prompt_follows_the_summary_in_one_message() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "Numbers."))
    opens(world, agent, "ask 3")
    assert len(said(world, agent)) == 1
    assert said(world, agent)[0].endswith("ask 2\n\nask 3")


def test_summary_and_trim_are_one_command() -> None:
    world, agent = conversation(2)
    says = does(world, Compact(agent, "Numbers.", score=0.9))
    assert (
        says == "Compacted 2 turns into a summary. It contains 90 % of the facts that were checked."
    )
    first, second = world.logs[agent][-2:]
    assert first.command == second.command
    assert first.event == ContextSummarized("Numbers.", score=0.9)
    assert isinstance(second.event, ContextTrimmed)
    assert (second.event.cause, second.event.summary) == ("compact", first.ref)


def test_the_last_turns_can_be_kept() -> None:
    world, agent = conversation(3)
    does(world, Compact(agent, "Numbers.", keep=1))
    assert said(world, agent)[0].endswith("Numbers.\n\nask 3")
    assert said(world, agent)[1:] == ["answer 3"]


@pytest.mark.parametrize("keep", [2, 3])
def test_keeping_everything_changes_nothing_and_says_so(keep: int) -> None:
    world, agent = conversation(2)
    before = list(world.logs[agent])
    says = does(world, Compact(agent, "Numbers.", keep=keep))
    assert says == "Nothing to compact: 2 turns in view."
    assert world.logs[agent] == before


@pytest.mark.parametrize("summary", ["", "  \n "])
def test_without_a_summary_nothing_is_trimmed(summary: str) -> None:
    world, agent = conversation(2)
    assert refusal(world, Compact(agent, summary)) == EmptyText("summary")


def test_several_in_a_row_each_have_their_summary_and_trim_point() -> None:
    world, agent = conversation(1)
    for number in range(2, 5):
        does(world, Compact(agent, f"Summary {number}."))
        world.turn(agent, f"ask {number}", f"answer {number}")
    assert kinds(world, agent).count("context.summarized") == 3
    assert "Summary 4." in said(world, agent)[0]
    assert "Summary 3." not in said(world, agent)[0]


def test_marks_survive() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    does(world, Compact(agent, "Numbers."))
    assert marked(world, agent) == ["HERE"]


def test_a_later_clear_n_leaves_the_summary() -> None:
    world, agent = conversation(1)
    does(world, Compact(agent, "Numbers."))
    world.turn(agent, "ask 2", "answer 2")
    world.turn(agent, "ask 3", "answer 3")
    does(world, KeepLast(agent, 1))
    does(world, Undo(agent))
    assert "Numbers." in said(world, agent)[0]


def test_a_child_inherits_the_summary() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "Numbers."))
    does(world, Fork(agent, child := AgentId("child")))
    assert world.request(child) == world.request(agent)


def test_a_person_cannot_compact_under_a_running_turn() -> None:
    world, agent = conversation(2)
    opens(world, agent)
    assert refusal(world, Compact(agent, "Numbers.")) == TurnIsOpen("/compact")


def test_a_summary_of_something_else_is_refused() -> None:
    world, agent = conversation(2)
    of = world.states[agent].context.tip
    world.turn(agent, "ask 3", "answer 3")
    assert refusal(world, Compact(agent, "Numbers.", of=of)) == SummaryOutdated()
    does(world, Compact(agent, "Numbers.", of=world.states[agent].context.tip))


@pytest.mark.parametrize(
    ("before", "since"),
    [
        ((), Undo(AGENT)),
        ((Undo(AGENT),), Redo(AGENT)),
        ((), Clear(AGENT)),
        ((), KeepLast(AGENT, 1)),
    ],
    ids=["undo", "redo", "clear", "clear 1"],
)
def test_a_summary_of_other_turns_than_are_in_view_is_refused(
    before: tuple[Command, ...], since: Command
) -> None:
    world, agent = conversation(4)
    for command in (KeepLast(agent, 2), *before):
        does(world, command)
    context = world.states[agent].context
    does(world, since)
    assert world.states[agent].context.tip == context.tip
    assert refusal(world, Compact(agent, "Numbers.", context=context)) == SummaryOutdated()


def test_a_summary_of_the_turns_in_view_is_used_though_results_were_masked_since() -> None:
    world, agent = conversation(2)
    context = structs.replace(world.states[agent].context, mask=Mask(EventRef(agent, 2), 9))
    does(world, Compact(agent, "Numbers.", context=context))


def test_tokens_left_behind_are_counted() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "Numbers."))
    event = last_event(world, agent)
    assert isinstance(event, ContextTrimmed)
    assert (event.turns, event.messages, event.tokens) == (2, 4, 26)


# By a model, in its own turn


def answered(world: CoreHarness, agent: AgentId, keep: int = 0) -> None:
    """The model asks to compact and answers."""
    opens(world, agent, "tidy up")
    says = by_model(world, DeferCompact(agent, keep))
    assert says == "This takes effect when the current turn ends."
    by_model(world, AddReply(agent, (Text("tidied"),)))


def system(world: CoreHarness, command: Command) -> Decision:
    return world.do(command, SYSTEM)


def test_a_models_wish_completes_its_turn_with_the_summary() -> None:
    world, agent = conversation(2)
    answered(world, agent)
    decision = system(world, Compact(agent, "Numbers.", of=world.states[agent].context.tip))
    assert isinstance(decision, Accepted)
    assert decision.message == "Compacted 3 turns into a summary."
    ended, summarised, trimmed = world.logs[agent][-3:]
    assert ended.kind == "turn.completed"
    assert ended.command == summarised.command == trimmed.command
    assert said(world, agent)[0].endswith("tidy up")
    assert len(said(world, agent)) == 1


def test_the_last_turns_and_its_own_can_be_kept() -> None:
    world, agent = conversation(2)
    answered(world, agent, keep=2)
    system(world, Compact(agent, "Numbers.", keep=2))
    assert said(world, agent)[1:] == ["answer 2", "tidy up", "tidied"]


def test_where_everything_is_kept_the_turn_completes_all_the_same() -> None:
    world, agent = conversation()
    answered(world, agent, keep=1)
    system(world, Compact(agent, "Numbers.", keep=1))
    assert world.states[agent].open is None
    assert said(world, agent) == ["tidy up", "tidied"]


def test_a_wish_without_a_summary_comes_to_nothing() -> None:
    world, agent = conversation(2)
    answered(world, agent)
    does(world, CompleteTurn(agent))
    assert said(world, agent)[0] == "ask 1"


@pytest.mark.parametrize("who", [SYSTEM, HUMAN], ids=str)
def test_nobody_compacts_a_turn_whose_model_did_not_ask(who: Actor) -> None:
    world, agent = conversation(1)
    opens(world, agent, "go on")
    by_model(world, AddReply(agent, (Text("I went on"),)))
    assert isinstance(world.do(Compact(agent, "Numbers."), who), TurnIsOpen)


def test_nobody_compacts_a_turn_that_is_not_answered() -> None:
    world, agent = conversation(1)
    opens(world, agent, "tidy up")
    by_model(world, DeferCompact(agent))
    assert isinstance(system(world, Compact(agent, "Numbers.")), TurnIsOpen)


def test_a_model_writes_no_summary_behind_the_check() -> None:
    world, agent = conversation(1)
    opens(world, agent, "tidy up")
    assert isinstance(refusal(world, Compact(agent, "Numbers."), MODEL), HumanOnly)


def test_a_summary_may_be_asked_for_once_the_turn_is_answered() -> None:
    world, agent = conversation(1)
    opens(world, agent, "tidy up")

    def asks() -> Decision:
        state, live = world.states[agent], world.lives[agent]
        request = view(state, live, instruction="Summarise.")
        return system(
            world, CallModel(agent, "scripted", digest(request), instruction="Summarise.")
        )

    assert isinstance(asks(), TurnIsOpen)
    by_model(world, AddReply(agent, (Text("tidied"),)))
    assert isinstance(asks(), Accepted)


def test_a_summary_that_was_dropped_is_paid_for_and_changes_nothing_else() -> None:
    world, agent = conversation(2)
    before, seen = world.states[agent].spent, said(world, agent)
    does(world, DropSummary(agent, "scripted", Usage(1_200, 80), "No shorter."))
    does(world, Kill(agent))
    does(world, DropSummary(agent, "scripted", Usage(1_300), "The agent was killed."))
    assert world.states[agent].spent == before + Usage(2_500, 80)
    assert world.states[agent].status == "killed"
    assert said(world, agent) == seen
