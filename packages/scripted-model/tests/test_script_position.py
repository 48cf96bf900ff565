"""The step that is due follows from the conversation alone."""

import pytest

from scripted_model.conversation import Message, Text, ToolCall, ToolResult
from scripted_model.prompt_script import find_position

SUMMARY = "SUMMARY OF IT"


def user(*texts: str) -> Message:
    return Message("user", tuple(Text(text) for text in texts))


def model(text: str = "a reply") -> Message:
    return Message("assistant", (Text(text),))


def due(*messages: Message) -> str | None:
    place = find_position(messages, SUMMARY)
    if place is None:
        return None
    part = place.script.step(place.number).reply.parts[0]
    assert isinstance(part, Text)
    return part.text


SCRIPT = "[[say: one]] [[say: two]]"


def test_without_a_script_nothing_is_due() -> None:
    assert due(user("hello"), model(), user("again")) is None


def test_the_first_request_plays_the_first_step() -> None:
    assert due(user(SCRIPT)) == "one"


def test_each_reply_moves_on_by_a_step() -> None:
    assert due(user(SCRIPT), model(), user("go on")) == "two"


def test_tool_results_move_on_too() -> None:
    call = Message("assistant", (ToolCall("1", "ls"),))
    result = Message("user", (ToolResult("1", "ls", "[[say: not a script]]"),))
    assert due(user(SCRIPT), call, result) == "two"


def test_after_the_last_step_the_model_is_done() -> None:
    assert due(user(SCRIPT), model(), user("x"), model(), user("y")) == "done."


def test_the_last_script_counts() -> None:
    assert due(user(SCRIPT), model(), user("[[say: other]]")) == "other"


def test_of_several_prompts_in_a_message_the_last_counts() -> None:
    assert due(user(SCRIPT, "and now: [[say: other]]")) == "other"


def test_a_script_in_a_reply_is_ignored() -> None:
    assert due(user("hello"), model("[[say: x]]"), user("go on")) is None


def test_a_script_in_a_reminder_is_ignored() -> None:
    reminder = "<system-reminder>[[say: reminded]]</system-reminder>"
    assert due(user(f"{SCRIPT}{reminder}")) == "one"
    assert due(user(reminder)) is None


@pytest.mark.parametrize(
    "label",
    [
        "[Summary of the conversation before this point]",
        "[Summary of the conversation before this point. This text ends at [end 0f1e].]",
        "[The user's last request before this point, verbatim]",
    ],
)
def test_a_quoted_script_is_ignored(label: str) -> None:
    assert due(user(f"{label}\n{SCRIPT}", "go on")) is None


def test_after_a_compaction_the_script_is_finished() -> None:
    assert due(user(SCRIPT), user(f"Before: {SUMMARY}"), user("go on")) == "done."
