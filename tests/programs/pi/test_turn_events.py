"""What a running pi tells, as the events of a turn."""

import json
from typing import Any

import pytest

from sapwood.core.content import Text, Usage
from sapwood.core.model_calls import Delta, Failure
from sapwood.programs.agent_provider import ProviderQuestion, ProviderReply, ProviderResult
from sapwood.programs.pi.single_answer import SINGLE_ANSWER
from sapwood.programs.pi.turn_events import TurnEvent, TurnEvents, decode_record
from sapwood.programs.single_answer import SingleQuestion

USAGE = {"input": 7, "output": 2, "cacheRead": 3, "cost": {"total": 0.25}}
REPLY = {
    "role": "assistant",
    "content": [{"type": "text", "text": "Yes."}],
    "model": "m1",
    "stopReason": "stop",
    "usage": USAGE,
}


def fed(turn: TurnEvents, *records: dict[str, Any]) -> list[TurnEvent]:
    decoded = [decode_record(json.dumps(each).encode()) for each in records]
    return [event for each in decoded if each for event in turn.feed(each)]


def ended(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message_end", "message": message}


def test_a_reply_has_its_pieces_its_usage_and_its_cost() -> None:
    turn = TurnEvents("/srv/wood")
    piece = {"type": "text_delta", "delta": "Yes."}
    update = {"type": "message_update", "assistantMessageEvent": piece}
    events = fed(turn, update, ended(REPLY), {"type": "agent_settled"})
    usage = Usage(10, 2, 3, cost=250_000)
    assert events == [Delta("text", "Yes."), ProviderReply((Text("Yes."),), "m1", usage)]
    assert (turn.status, turn.usage) == ("completed", usage)


def test_a_result_has_the_change_of_its_file() -> None:
    told = {"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "ok"}]}
    diff = {"details": {"diff": "+ nests"}, "isError": False}
    (event,) = fed(TurnEvents(""), ended({**told, **diff}))
    assert event == ProviderResult("c1", "ok", False, "+ nests")


@pytest.mark.parametrize(("stop", "status"), [("aborted", "interrupted"), ("error", "failed")])
def test_the_last_reply_says_how_the_turn_ended(stop: str, status: str) -> None:
    turn = TurnEvents("")
    fed(turn, ended({**REPLY, "stopReason": stop, "errorMessage": "so"}), {"type": "agent_settled"})
    assert (turn.status, turn.reason) == (status, "so")


def test_a_prompt_that_pi_refuses_ends_the_turn() -> None:
    turn = TurnEvents("")
    fed(turn, {"type": "extension_error", "event": "send_user_message", "error": "No API key"})
    assert (turn.status, turn.reason) == ("failed", "No API key")


def test_only_questions_of_our_extension_are_asked() -> None:
    turn = TurnEvents("/srv/wood")
    asked = json.dumps({"toolCallId": "c1", "toolName": "bash", "input": {"command": "ls"}})
    ours = {"method": "input", "title": "sapwood", "placeholder": asked}
    other = {"method": "confirm", "title": "Clear?", "message": "All of it."}
    events = fed(
        turn,
        {"type": "extension_ui_request", "id": "q1", **ours},
        {"type": "extension_ui_request", "id": "q2", **other},
        {"type": "extension_ui_request", "id": "q3", "method": "notify", "message": "Hello"},
    )
    (question,) = events
    assert isinstance(question, ProviderQuestion)
    assert (question.question, question.subject, question.folder) == ("q1", "ls", "/srv/wood")
    assert turn.refused == ["q2"]


def test_one_answer_has_no_tools_and_no_session() -> None:
    arguments = SINGLE_ANSWER.arguments(SingleQuestion("Is it?", "Judge.", "p/m1"))
    assert {"--no-session", "--no-tools", "--no-extensions"} <= set(arguments)
    assert arguments[-4:] == ["--model", "p/m1", "--system-prompt", "Judge."]
    printed = "\n".join(map(json.dumps, ({"type": "session"}, ended(REPLY))))
    answer = SINGLE_ANSWER.answer(printed.encode())
    assert (answer.text, answer.usage.cost) == ("Yes.", 250_000)
    with pytest.raises(Failure, match="it gave no answer"):
        SINGLE_ANSWER.answer(b"")
