"""Inside a turn: prompt, model calls, replies, tools, and the ways it can end."""

import pytest
from msgspec import structs

from sapwood.core.commands import (
    AddPin,
    AddReply,
    CallModel,
    Command,
    CompleteTurn,
    FailTurn,
    FinishTool,
    InterruptTurn,
    ReadMail,
    RecordTurn,
    Send,
    StartTool,
    StartTurn,
    StreamReply,
)
from sapwood.core.content import (
    Ended,
    RecordedReply,
    RecordedResult,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.events import (
    ModelCalled,
    ReplyAdded,
    ReplyLost,
    Size,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
)
from sapwood.core.ids import AgentId
from sapwood.core.refusals import (
    AskedAgain,
    CallsOpen,
    CallStarted,
    DuplicateCall,
    EmptyText,
    NoTurnOpen,
    StaleRequest,
    TurnEnded,
    TurnIsOpen,
    UnknownCall,
)
from sapwood.core.turn import Reply
from sapwood.core.view import VIEW, view
from sapwood.core.view.request import digest
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does, kinds, last_event, opens, refusal, results, said

AGENT = AgentId("agent1")
ONE, TWO = ToolCall("1", "read"), ToolCall("2", "write")


def test_a_turn_grows_on_the_tip() -> None:
    world, agent = conversation(1)
    tip = world.states[agent].context.tip
    opens(world, agent, "ask 2")
    assert world.states[agent].context.tip == tip
    does(world, AddReply(agent, (Text("answer 2"),)))
    does(world, CompleteTurn(agent))
    (first, second) = world.lives[agent].turns
    assert second.parent == first.ref == tip
    assert world.states[agent].context.tip == second.ref


def test_only_one_turn_is_open() -> None:
    world, agent = conversation()
    opens(world, agent)
    assert refusal(world, StartTurn(agent, (Text("more"),))) == TurnIsOpen("A new prompt")
    assert refusal(world, RecordTurn(agent, (Text("more"),))) == TurnIsOpen("A new turn")


@pytest.mark.parametrize("prompt", [(), (Text(""),), (Text(" \n\t"), Text("\u2003"))])
def test_an_empty_prompt_is_refused(prompt: tuple[Text, ...]) -> None:
    world, agent = conversation()
    assert refusal(world, StartTurn(agent, prompt)) == EmptyText("prompt")
    assert refusal(world, RecordTurn(agent, prompt)) == EmptyText("prompt")


def test_blank_parts_of_a_prompt_are_left_out_and_the_rest_is_verbatim() -> None:
    world, agent = conversation()
    does(world, StartTurn(agent, (Text(" "), Text("  keep\tthis \n"))))
    turn = world.lives[agent].open
    assert turn is not None
    assert turn.prompt == (Text("  keep\tthis \n"),)


OUTSIDE: dict[str, Command] = {
    "a model call": CallModel(AGENT, "scripted", "hash"),
    "a reply": AddReply(AGENT, (Text("x"),)),
    "a tool start": StartTool(AGENT, "1"),
    "a result": FinishTool(AGENT, "1", "x"),
    "an end": CompleteTurn(AGENT),
    "an interruption": InterruptTurn(AGENT),
    "a failure": FailTurn(AGENT),
}


@pytest.mark.parametrize("command", OUTSIDE.values(), ids=OUTSIDE)
def test_outside_of_a_turn_is_refused(command: Command) -> None:
    world, _ = conversation(1)
    assert refusal(world, command) == NoTurnOpen()


# Model calls


def called(world: CoreHarness, agent: AgentId, estimate: int = 0) -> CallModel:
    """The call of the present request."""
    return CallModel(agent, "scripted", digest(world.request(agent)), estimate)


def test_a_model_call_stores_the_manifest_first() -> None:
    world, agent = conversation(1)
    opens(world, agent)
    command = CallModel(agent, "scripted", digest(world.request(agent)), 7, '{"n":1}', "tools")
    does(world, command)
    assert last_event(world, agent) == ModelCalled(
        "scripted", world.states[agent].context, command.hash, 7, '{"n":1}', "tools", view=VIEW
    )


def test_a_call_with_a_request_that_is_not_the_present_one_is_refused() -> None:
    world, agent = conversation(1)
    opens(world, agent)
    outdated = called(world, agent)
    does(world, AddPin(agent, "rule", "Be brief."))
    assert refusal(world, outdated) == StaleRequest()
    does(world, called(world, agent))


def test_a_model_is_not_called_while_tools_run() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, AddReply(agent, (ONE,)))
    assert refusal(world, called(world, agent)) == CallsOpen(("1",))


def test_a_call_with_an_instruction_belongs_to_no_turn() -> None:
    world, agent = conversation(1)
    state, live = world.states[agent], world.lives[agent]
    hash_ = digest(view(state, live, "scripted", "Summarise."))
    command = CallModel(agent, "scripted", hash_, instruction="Summarise.")
    does(world, command)
    assert world.lives[agent] == live
    assert refusal(world, CallModel(agent, "scripted", hash_, instruction="?")) == StaleRequest()
    opens(world, agent)
    assert isinstance(refusal(world, command), TurnIsOpen)


def test_what_the_provider_reports_corrects_the_estimate_of_that_model() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, called(world, agent, estimate=1000))
    does(world, AddReply(agent, (Text("x"),), usage=Usage(input=1200)))
    assert world.states[agent].ratio().apply(100) == 120
    assert world.states[agent].ratio("another").apply(100) == 100


@pytest.mark.parametrize("usage", [None, Usage(input=0)])
def test_no_report_teaches_nothing(usage: Usage | None) -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, called(world, agent, estimate=1000))
    does(world, AddReply(agent, (Text("x"),), usage=usage))
    assert world.states[agent].ratio().apply(100) == 100


def test_a_report_without_a_call_teaches_nothing() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, called(world, agent, estimate=1000))
    does(world, AddReply(agent, (Text("x"),), usage=Usage(input=1200)))
    does(world, AddReply(agent, (Text("y"),), usage=Usage(input=4000)))
    assert world.states[agent].ratio().apply(100) == 120


# Replies and tools


def test_a_reply_is_kept_whole() -> None:
    world, agent = conversation()
    opens(world, agent)
    parts = (Thinking("hm", "anthropic", "sig"), Text("Let me look."), ONE)
    does(world, AddReply(agent, parts, "scripted", Usage(1)))
    assert last_event(world, agent) == ReplyAdded(parts, "scripted", Usage(1))


def test_tools_run_start_to_finish_in_any_order() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, AddReply(agent, (ONE, TWO)))
    does(world, StartTool(agent, "2"))
    does(world, StartTool(agent, "1"))
    does(world, FinishTool(agent, "2", "second"))
    does(world, FinishTool(agent, "1", "first", error=True))
    assert results(world, agent) == ["first", "second"]


def test_a_tool_starts_once() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, AddReply(agent, (ONE,)))
    does(world, StartTool(agent, "1"))
    assert refusal(world, StartTool(agent, "1")) == CallStarted("1")


def test_a_result_needs_an_open_call() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, AddReply(agent, (ONE,)))
    assert refusal(world, FinishTool(agent, "2", "x")) == UnknownCall("2")
    does(world, FinishTool(agent, "1", "x"))
    assert refusal(world, FinishTool(agent, "1", "again")) == UnknownCall("1")
    assert refusal(world, StartTool(agent, "1")) == UnknownCall("1")


def test_what_has_finished_is_no_longer_started() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, AddReply(agent, (ONE, TWO)))
    for call in ("1", "2"):
        does(world, StartTool(agent, call))
    does(world, FinishTool(agent, "1", "x"))
    turn, state = world.lives[agent].open, world.states[agent].open
    assert turn is not None
    assert state is not None
    assert (turn.started, state.started, state.calls) == (frozenset({"2"}), ("2",), ("2",))


def test_every_call_of_a_turn_has_an_id_of_its_own() -> None:
    world, agent = conversation()
    opens(world, agent)
    assert refusal(world, AddReply(agent, (ONE, ONE))) == DuplicateCall("1")
    does(world, AddReply(agent, (ONE,)))
    does(world, FinishTool(agent, "1", "x"))
    assert refusal(world, AddReply(agent, (ONE,))) == DuplicateCall("1")


def test_another_turn_may_use_the_ids_again() -> None:
    world, agent = conversation()
    for _ in range(2):
        opens(world, agent)
        does(world, AddReply(agent, (ONE,)))
        does(world, FinishTool(agent, "1", "x"))
        does(world, CompleteTurn(agent))
    assert results(world, agent) == ["x", "x"]


def test_the_model_waits_for_all_results() -> None:
    world, agent = conversation()
    opens(world, agent)
    does(world, AddReply(agent, (ONE, TWO)))
    does(world, FinishTool(agent, "1", "x"))
    assert refusal(world, AddReply(agent, (Text("y"),))) == CallsOpen(("2",))
    assert refusal(world, CompleteTurn(agent)) == CallsOpen(("2",))


# Ends


def test_a_completed_turn_knows_its_size() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, AddReply(agent, (Text("answer"),)))
    does(world, CompleteTurn(agent))
    assert last_event(world, agent) == TurnCompleted(Size(len("askanswer"), "characters"))


def test_an_interrupted_turn_keeps_what_was_there_and_closes_its_calls() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, AddReply(agent, (Text("Let me look."), ONE, TWO)))
    does(world, FinishTool(agent, "1", "found"))
    says = does(world, InterruptTurn(agent, "the user pressed esc"))
    assert says == "Interrupted. The partial reply is kept."
    assert isinstance(last_event(world, agent), TurnInterrupted)
    assert results(world, agent) == ["found", "[interrupted: the user pressed esc]"]
    assert (
        note_after(world, agent) == "Your turn before this was interrupted: the user pressed esc."
    )


def note_after(world: CoreHarness, agent: AgentId) -> str:
    """What the next prompt tells the model about the turn before."""
    opens(world, agent, "next")
    message = world.request(agent).messages[-1]
    assert message.role == "user"
    *_, note, prompt = [part.text for part in message.parts if isinstance(part, Text)]
    assert prompt == "next"
    label, _, sentence = note.partition("\n")
    assert "not the user's words" in label
    return sentence


def test_a_turn_interrupted_at_once_is_told_with_the_next_prompt() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, InterruptTurn(agent))
    world.turn(agent, "again", "answer")
    asked, answered = said(world, agent)
    assert asked.startswith("ask\n\n[From the program")
    assert asked.endswith("Your turn before this was interrupted.\n\nagain")
    assert answered == "answer"


def test_a_request_of_the_first_view_is_built_as_it_was() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, InterruptTurn(agent))
    opens(world, agent, "again")
    request = view(world.states[agent], world.lives[agent], version=1)
    assert [message.text for message in request.messages] == ["ask", "[interrupted]", "again"]


def test_a_reply_that_only_thought_is_in_no_request() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    before = world.request(agent)
    does(world, AddReply(agent, (Thinking("Hmm."),), ended="length"))
    assert world.request(agent) == before
    does(world, InterruptTurn(agent))
    opens(world, agent, "again")
    [asked] = world.request(agent).messages
    assert asked.parts[0] == before.messages[0].parts[0]


def test_what_was_thought_stays_with_what_was_said_after_it() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, AddReply(agent, (Thinking("Hmm."),), ended="length"))
    does(world, AddReply(agent, (Text("So."),)))
    assert world.request(agent).messages[-1].parts == (Thinking("Hmm."), Text("So."))


def test_a_request_of_the_second_view_is_built_as_it_was() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, AddReply(agent, (Thinking("Hmm."),), ended="length"))
    request = view(world.states[agent], world.lives[agent], version=2)
    assert [message.role for message in request.messages] == ["user", "assistant"]


def test_an_interrupted_answer_is_given_to_the_model_as_it_was() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, AddReply(agent, (Text("Once upon"),)))
    does(world, InterruptTurn(agent))
    assert said(world, agent) == ["ask", "Once upon"]
    assert note_after(world, agent) == "Your turn before this was interrupted."


def test_a_failed_turn_keeps_what_was_there_and_says_why() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, FailTurn(agent, "No network. Try again."))
    event = last_event(world, agent)
    assert isinstance(event, TurnFailed)
    assert said(world, agent) == ["ask"]
    assert note_after(world, agent) == "Your turn before this failed: No network. Try again."


def test_a_turn_completed_without_an_answer_says_so() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, AddReply(agent, (Thinking("hm"), Text(" "))))
    does(world, CompleteTurn(agent))
    assert said(world, agent) == ["ask"]
    assert note_after(world, agent) == "Your turn before this ended without an answer."


# Turns recorded as a whole


def test_a_recorded_turn_is_one_event_and_reads_like_any_other() -> None:
    live, whole = CoreHarness(), CoreHarness()
    for world in (live, whole):
        world.start()
    opens(live, AGENT, "ask")
    does(live, AddReply(AGENT, (ONE,)))
    does(live, FinishTool(AGENT, "1", "found"))
    does(live, AddReply(AGENT, (Text("answer"),)))
    does(live, CompleteTurn(AGENT))
    items = (RecordedReply((ONE,)), RecordedResult("1", "found"), RecordedReply((Text("answer"),)))
    does(whole, RecordTurn(AGENT, (Text("ask"),), items))
    assert kinds(whole, AGENT) == ["agent.started", "turn.recorded"]
    assert whole.request(AGENT) == live.request(AGENT)
    assert whole.lives[AGENT].turns[0].size == live.lives[AGENT].turns[0].size


def test_a_recorded_turn_may_have_been_interrupted_or_failed() -> None:
    world, agent = conversation()
    does(world, RecordTurn(agent, (Text("ask"),), (RecordedReply((ONE,)),), "interrupted", "esc"))
    does(world, RecordTurn(agent, (Text("ask"),), (), "failed", "no network"))
    assert results(world, agent) == ["[interrupted: esc]"]
    assert note_after(world, agent) == "Your turn before this failed: no network."


BAD_TURNS = {
    "a result without a call": ((RecordedResult("1", "x"),), UnknownCall("1")),
    "a result twice": (
        (RecordedReply((ONE,)), RecordedResult("1", "x"), RecordedResult("1", "y")),
        UnknownCall("1"),
    ),
    "a reply before the results": (
        (RecordedReply((ONE,)), RecordedReply((Text("x"),))),
        CallsOpen(("1",)),
    ),
    "an end before the results": ((RecordedReply((ONE,)),), CallsOpen(("1",))),
    "an id used again": (
        (RecordedReply((ONE,)), RecordedResult("1", "x"), RecordedReply((ONE,))),
        DuplicateCall("1"),
    ),
    "an id used twice in a reply": (
        (RecordedReply((ONE, ONE)), RecordedResult("1", "x")),
        DuplicateCall("1"),
    ),
}


@pytest.mark.parametrize("name", BAD_TURNS)
def test_a_recorded_turn_pairs_up_calls_and_results(name: str) -> None:
    items, reason = BAD_TURNS[name]
    world, agent = conversation()
    assert refusal(world, RecordTurn(agent, (Text("ask"),), items)) == reason


def test_waiting_notes_go_into_a_recorded_turn() -> None:
    world, agent = conversation()
    does(world, Send(agent, "m1", "Look."))
    does(world, ReadMail(agent))
    does(world, RecordTurn(agent, (Text("ask"),), (RecordedReply((Text("answer"),)),)))
    event = last_event(world, agent)
    assert isinstance(event, TurnRecorded)
    assert [part.text for part in event.prompt] == ["Look.", "ask"]
    assert world.states[agent].notes == ()


def test_a_turn_of_thousands_of_calls_is_recorded_in_little_time() -> None:
    world, agent = conversation()
    opens(world, agent)
    for number in range(2_000):
        does(world, AddReply(agent, (ToolCall(f"c{number}", "read"),)))
        does(world, FinishTool(agent, f"c{number}", "x"))
    does(world, CompleteTurn(agent))
    assert len(results(world, agent)) == 2_000
    assert world.read_live(agent) == world.lives[agent]


# What a model had said when it was interrupted


def calls(world: CoreHarness, agent: AgentId) -> int:
    """The model is called; the version of the call."""
    does(world, called(world, agent))
    return world.states[agent].version


def test_an_interrupt_keeps_what_was_said_in_one_command() -> None:
    world, agent = conversation()
    opens(world, agent, "Tell me.")
    call = calls(world, agent)
    does(world, InterruptTurn(agent, "enough", "The heron", call))
    reply, end = world.logs[agent][-2:]
    assert reply.command == end.command
    assert reply.event == ReplyAdded((Text("The heron"),), "scripted", ended="cut")
    assert said(world, agent)[-1] == "The heron"
    assert note_after(world, agent) == "Your turn before this was interrupted: enough."


def test_words_that_were_stored_become_the_reply_of_an_interrupted_or_failed_turn() -> None:
    for end in (InterruptTurn, FailTurn):
        world, agent = conversation()
        opens(world, agent, "Tell me.")
        call = calls(world, agent)
        does(world, StreamReply(agent, (Thinking("Hm."), Text("The ")), call))
        does(world, StreamReply(agent, (Text("heron "), ToolCall("", "look", "")), call))
        does(world, end(agent, "enough"))
        reply = world.logs[agent][-2].event
        words = (Thinking("Hm."), Text("The heron "))
        assert reply == ReplyAdded(words, "scripted", ended="cut")
        assert world.read_live(agent) == world.lives[agent]


def test_a_call_that_was_lost_is_told_with_its_words_before_the_next_one() -> None:
    world, agent = conversation()
    opens(world, agent, "Tell me.")
    call = calls(world, agent)
    does(world, StreamReply(agent, (Text("The heron "),), call))
    does(world, structs.replace(called(world, agent), lost=call))
    lost, again = [recorded.event for recorded in world.logs[agent][-2:]]
    assert isinstance(lost, ReplyLost)
    assert (lost.parts, lost.asked) == ((Text("The heron "),), call)
    assert isinstance(again, ModelCalled)
    assert world.read_live(agent) == world.lives[agent]
    assert refusal(world, StreamReply(agent, (Text("nests."),), call)) == AskedAgain()


def test_what_is_in_the_log_already_is_not_kept_twice() -> None:
    world, agent = conversation()
    opens(world, agent, "Tell me.")
    call = calls(world, agent)
    does(world, AddReply(agent, (Text("The heron nests."),)))
    does(world, InterruptTurn(agent, "", "The heron", call))
    assert said(world, agent)[-1] == "The heron nests."


def test_words_of_an_earlier_call_are_not_taken_for_those_of_a_later_one() -> None:
    world, agent = conversation()
    opens(world, agent, "Tell me.")
    call = calls(world, agent)
    does(world, AddReply(agent, (Text("I look."), ONE)))
    does(world, FinishTool(agent, "1", "pine"))
    calls(world, agent)
    does(world, InterruptTurn(agent, "", "I lo", call))
    assert "I lo" not in [each.text for each in world.request(agent).messages]
    assert note_after(world, agent) == "Your turn before this was interrupted."


@pytest.mark.parametrize("words", ["", "  \n"])
def test_nothing_said_is_nothing_kept(words: str) -> None:
    world, agent = conversation()
    opens(world, agent, "Tell me.")
    does(world, InterruptTurn(agent, "", words, calls(world, agent)))
    assert kinds(world, agent)[-1:] == ["turn.interrupted"]
    assert "reply.added" not in kinds(world, agent)


# Another turn than the one that was meant


@pytest.mark.parametrize(
    "command",
    [
        AddReply(AGENT, (Text("late"),), turn=2),
        StartTool(AGENT, "1", turn=2),
        FinishTool(AGENT, "1", "late", turn=2),
        CompleteTurn(AGENT, turn=2),
        FailTurn(AGENT, "late", turn=2),
    ],
    ids=lambda command: type(command).__name__,
)
def test_what_is_late_does_not_get_into_the_next_turn(command: Command) -> None:
    world, agent = conversation()
    opens(world, agent, "one")
    does(world, InterruptTurn(agent))
    opens(world, agent, "two")
    before = list(world.logs[agent])
    assert isinstance(refusal(world, command), TurnEnded)
    assert world.logs[agent] == before


def test_a_turn_that_is_named_takes_what_is_for_it() -> None:
    world, agent = conversation()
    opens(world, agent, "one")
    does(world, AddReply(agent, (Text("in time"),), turn=2))
    does(world, CompleteTurn(agent, turn=2))
    assert said(world, agent) == ["one", "in time"]


# A reply that did not come to its end


@pytest.mark.parametrize(
    ("ended", "why"), [("length", "limit of its length"), ("refused", "filter")]
)
def test_a_reply_that_was_cut_off_says_so(ended: Ended, why: str) -> None:
    world, agent = conversation()
    opens(world, agent, "Tell me.")
    does(world, AddReply(agent, (Text("Once upon"),), ended=ended))
    does(world, CompleteTurn(agent))
    assert said(world, agent)[-1] == "Once upon"
    note = note_after(world, agent)
    assert note.startswith("Your reply before this was cut off: ")
    assert why in note


def test_one_that_was_cut_off_in_a_call_ends_with_the_call() -> None:
    world, agent = conversation()
    opens(world, agent, "Tell me.")
    does(world, AddReply(agent, (Text("I look."), ONE), ended="length"))
    assert world.request(agent).messages[1].parts == (Text("I look."), ONE)
    turn = world.lives[agent].open
    assert turn is not None
    reply = turn.items[-1]
    assert isinstance(reply, Reply)
    assert reply.unfinished == ONE
