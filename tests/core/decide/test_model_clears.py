"""A model's own clear takes effect when its turn completes, and not when it is cut short."""

import pytest

from sapwood.core.commands import (
    AddReply,
    Clear,
    Command,
    CompleteTurn,
    FailTurn,
    FinishTool,
    InterruptTurn,
    KeepLast,
    ReadMail,
    Rewind,
    Send,
    SetMark,
    Undo,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.decide.contexts import restarts_turn
from sapwood.core.events import ClearDeferred
from sapwood.core.ids import AgentId
from sapwood.core.refusals import BadArguments, NoMarks, NoTurnOpen, UnknownMark
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
NOTE = "[A note to yourself, from before the context was rewound]\n"


def completes(world: CoreHarness, agent: AgentId, reply: str = "done") -> None:
    """The model answers and its turn completes."""
    does(world, AddReply(agent, (Text(reply),)))
    does(world, CompleteTurn(agent))


def test_it_is_put_off_and_says_so() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    assert by_model(world, Clear(agent)) == "This takes effect when the current turn ends."
    assert last_event(world, agent) == ClearDeferred()
    assert said(world, agent) == ["ask 1", "answer 1", "ask 2"]


def test_a_bare_clear_leaves_nothing_of_its_own_turn_either() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    opens(world, agent, "ask 2")
    by_model(world, Clear(agent))
    completes(world, agent)
    assert said(world, agent) == []
    assert marked(world, agent) == []


def test_clear_n_counts_its_own_turn() -> None:
    world, agent = conversation(2)
    opens(world, agent, "ask 3")
    by_model(world, KeepLast(agent, 2))
    completes(world, agent)
    assert said(world, agent)[::2] == ["ask 2", "ask 3"]


def test_clear_n_of_more_than_there_are_changes_nothing() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    by_model(world, KeepLast(agent, 9))
    completes(world, agent)
    assert kinds(world, agent)[-1] == "turn.completed"


def test_the_last_wish_counts() -> None:
    world, agent = conversation(2)
    opens(world, agent, "ask 3")
    by_model(world, Clear(agent))
    by_model(world, KeepLast(agent, 1))
    completes(world, agent)
    assert said(world, agent)[::2] == ["ask 3"]


def test_a_rewind_to_an_earlier_mark_leaves_a_note_for_the_next_prompt() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 2", "answer 2")
    opens(world, agent, "ask 3")
    by_model(world, Rewind(agent, "HERE", "Retries do not help."))
    completes(world, agent)
    assert said(world, agent) == ["ask 1", "answer 1"]
    assert world.states[agent].open is None
    opens(world, agent, "ask 4")
    assert said(world, agent)[-1] == f"{NOTE}Retries do not help.\n\nask 4"


def goes_back(
    world: CoreHarness, agent: AgentId, mark: str, note: str = "", tool: str = ""
) -> None:
    """The model calls a tool, asks to go back to a mark, and its turn ends without an answer."""
    number = str(world.states[agent].version)
    does(world, AddReply(agent, (ToolCall(number, tool or "slash"),)))
    by_model(world, Rewind(agent, mark, note), number)
    does(world, FinishTool(agent, number, "ok"))
    assert restarts_turn(world.states[agent])
    does(world, CompleteTurn(agent))


def test_a_rewind_to_a_mark_in_its_own_turn_opens_the_turn_again_with_the_note() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    by_model(world, SetMark(agent, "TRY"))
    goes_back(world, agent, "TRY", "Use the other door.")
    assert said(world, agent) == ["ask 1", "answer 1", f"{NOTE}Use the other door.\n\nask 2"]
    assert world.states[agent].open is not None
    assert world.states[agent].notes == ()
    assert marked(world, agent) == ["TRY"]


def test_it_can_be_opened_again_as_often_as_the_model_needs() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    by_model(world, SetMark(agent, "TRY"))
    for attempt in (1, 2, 3):
        goes_back(world, agent, "TRY", f"Attempt {attempt} failed.")
        assert world.states[agent].open is not None
    (prompt,) = said(world, agent)
    assert prompt.endswith("ask")
    assert all(f"Attempt {attempt} failed." in prompt for attempt in (1, 2, 3))
    completes(world, agent, "finally")
    assert said(world, agent)[-1] == "finally"


def test_a_turn_that_opens_again_is_told_which_tools_have_run() -> None:
    world, agent = conversation()
    opens(world, agent, "deploy")
    by_model(world, SetMark(agent, "TRY"))
    goes_back(world, agent, "TRY", "It is deployed.", tool="shell")
    (prompt,) = said(world, agent)
    assert "these tools have run, and what they did stays: shell.\nIt is deployed." in prompt


def test_a_request_that_was_answered_does_not_start_again() -> None:
    world, agent = conversation()
    opens(world, agent, "deploy")
    by_model(world, SetMark(agent, "TRY"))
    by_model(world, Rewind(agent, "TRY", "It is deployed."))
    completes(world, agent, "Deployed.")
    assert world.states[agent].open is None
    opens(world, agent, "and now?")
    assert said(world, agent) == [f"{NOTE}It is deployed.\n\nand now?"]


def test_a_request_of_an_earlier_turn_does_not_start_again() -> None:
    world, agent = conversation()
    opens(world, agent, "deploy")
    by_model(world, SetMark(agent, "TRY"))
    completes(world, agent, "Deployed.")
    world.turn(agent, "ask 2", "answer 2")
    opens(world, agent, "ask 3")
    by_model(world, Rewind(agent, "TRY"))
    assert not restarts_turn(world.states[agent])
    completes(world, agent, "answer 3")
    assert world.states[agent].open is None
    assert said(world, agent) == []
    does(world, Undo(agent))
    assert said(world, agent)[-1] == "answer 3"


def test_mail_that_waits_comes_along_when_a_turn_opens_again() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    by_model(world, SetMark(agent, "TRY"))
    does(world, Send(agent, "m1", "Look."))
    does(world, ReadMail(agent))
    goes_back(world, agent, "TRY")
    assert "Look." in said(world, agent)[0]
    assert world.states[agent].notes == ()


def test_a_mark_that_moved_meanwhile_is_still_meant() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 2", "answer 2")
    opens(world, agent, "ask 3")
    by_model(world, Rewind(agent, "HERE"))
    does(world, SetMark(agent, "HERE"))
    completes(world, agent)
    assert said(world, agent) == ["ask 1", "answer 1", "ask 2", "answer 2"]


@pytest.mark.parametrize("end", [InterruptTurn(AGENT), FailTurn(AGENT, "no network")])
@pytest.mark.parametrize("wish", [Clear(AGENT), KeepLast(AGENT, 1), Rewind(AGENT, "HERE", "note")])
def test_a_turn_that_is_cut_short_drops_the_wish(end: Command, wish: Command) -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 2", "answer 2")
    opens(world, agent, "ask 3")
    by_model(world, wish)
    does(world, end)
    assert said(world, agent)[:5] == ["ask 1", "answer 1", "ask 2", "answer 2", "ask 3"]
    assert world.states[agent].notes == ()
    world.turn(agent, "ask 4", "answer 4")
    assert said(world, agent)[0] == "ask 1"


def test_a_person_can_undo_what_a_model_cleared() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    opens(world, agent, "ask 2")
    by_model(world, Rewind(agent, "HERE", "That led nowhere."))
    completes(world, agent, "answer 2")
    does(world, Undo(agent))
    assert said(world, agent) == ["ask 1", "answer 1", "ask 2", "answer 2"]
    assert world.states[agent].notes == ()


def test_a_turn_opened_again_becomes_a_side_branch_when_it_is_undone() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    by_model(world, SetMark(agent, "TRY"))
    goes_back(world, agent, "TRY", "Again.")
    completes(world, agent, "second")
    assert said(world, agent)[-1] == "second"
    does(world, Undo(agent))
    assert said(world, agent)[0] == "ask"


def test_there_must_be_a_turn_and_a_mark() -> None:
    world, agent = conversation(1)
    assert refusal(world, Clear(agent), MODEL) == NoTurnOpen()
    assert refusal(world, Rewind(agent, "HERE"), MODEL) == NoTurnOpen()
    opens(world, agent)
    assert refusal(world, Rewind(agent, "HERE"), MODEL) == UnknownMark("HERE")
    assert refusal(world, Rewind(agent), MODEL) == NoMarks()
    assert isinstance(refusal(world, KeepLast(agent, 0), MODEL), BadArguments)


def test_calls_of_the_clear_itself_pair_up() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    does(world, AddReply(agent, (ToolCall("1", "slash", '{"command":"clear"}'),)))
    says = by_model(world, KeepLast(agent, 1), "1")
    does(world, FinishTool(agent, "1", says))
    completes(world, agent)
    assert said(world, agent)[0] == "ask 2"
