"""Sapwood's messages as pydantic-ai gets them."""

from collections.abc import Sequence
from typing import cast

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import Block, Message, ToolResult
from sapwood.core.view.request import MessagePart
from sapwood.models.model_routes import ModelRoute, resolve
from sapwood.models.wire.message_parts import NO_TEXT
from sapwood.models.wire.signatures import REDACTED, ReasoningItem, encode_reasoning
from sapwood_frameworks.pydantic_messages import instructions, model_messages

URLS = {"den": "http://den/v1", "hut": "http://hut/v1"}
ANTHROPIC = resolve("claude-sonnet-5-5")
OPENAI = resolve("gpt-5")
CHAT = resolve("openai-chat:gpt-5.4")
GOOGLE = resolve("gemini-3.8-flash")
DEN = resolve("den:qwen3", URLS)
ALL = [ANTHROPIC, OPENAI, CHAT, GOOGLE, DEN]


def by_name(route: ModelRoute) -> str:
    return route.provider


def user(*parts: MessagePart) -> Message:
    return Message("user", parts)


def model(*parts: MessagePart) -> Message:
    return Message("assistant", parts)


def said_to(route: ModelRoute, *parts: MessagePart) -> Sequence[object]:
    (message,) = model_messages([user(*parts)], route)
    assert isinstance(message, ModelRequest)
    return message.parts


def said_by(route: ModelRoute, *parts: MessagePart) -> Sequence[object]:
    message = model_messages([user(Text("hi")), model(*parts)], route)[1]
    assert isinstance(message, ModelResponse)
    return message.parts


def thoughts(messages: Sequence[ModelMessage]) -> list[ThinkingPart]:
    return [part for m in messages for part in m.parts if isinstance(part, ThinkingPart)]


def call_of(parts: Sequence[object]) -> "ToolCallPart[object]":
    (part,) = parts
    assert isinstance(part, ToolCallPart)
    return cast("ToolCallPart[object]", part)


def result_of(parts: Sequence[object]) -> "ToolReturnPart[object]":
    (part,) = parts
    assert isinstance(part, ToolReturnPart)
    return cast("ToolReturnPart[object]", part)


# System prompt and tools


def test_system_prompt_and_pins_stay_apart_and_in_order() -> None:
    blocks = [Block("system", "", "Be brief."), Block("pin", "a", " "), Block("pin", "b", "Rule.")]
    assert [part.content for part in instructions(blocks)] == ["Be brief.", "Rule."]


# The user's side


@pytest.mark.parametrize("route", ALL, ids=by_name)
def test_results_come_before_words(route: ModelRoute) -> None:
    parts = said_to(route, Text("And now?"), ToolResult("1", "weather", "cold"))
    assert [type(part) for part in parts] == [ToolReturnPart, UserPromptPart]


def test_several_texts_stay_apart_where_the_wire_has_a_list() -> None:
    (part,) = said_to(ANTHROPIC, Text("one"), Text(" "), Text("two"))
    assert isinstance(part, UserPromptPart)
    assert part.content == ["one", "two"]


def test_several_texts_become_one_for_chat_servers() -> None:
    (part,) = said_to(DEN, Text("one"), Text("two"))
    assert isinstance(part, UserPromptPart)
    assert part.content == "one\n\ntwo"


@pytest.mark.parametrize("route", ALL, ids=by_name)
def test_a_message_without_words_still_says_something(route: ModelRoute) -> None:
    (part,) = said_to(route, Text("  "))
    assert isinstance(part, UserPromptPart)
    assert part.content == NO_TEXT


@pytest.mark.parametrize("route", [ANTHROPIC, GOOGLE], ids=by_name)
def test_an_error_is_flagged_where_the_wire_has_a_flag(route: ModelRoute) -> None:
    part = result_of(said_to(route, ToolResult("1", "weather", "no such city", error=True)))
    assert (part.outcome, part.content) == ("failed", "no such city")


@pytest.mark.parametrize("route", [OPENAI, CHAT, DEN], ids=by_name)
def test_an_error_is_marked_in_words_where_the_wire_has_no_flag(route: ModelRoute) -> None:
    part = result_of(said_to(route, ToolResult("1", "weather", "no such city", error=True)))
    assert (part.outcome, part.content) == ("success", "[error]\nno such city")


def test_an_empty_result_says_so() -> None:
    assert result_of(said_to(OPENAI, ToolResult("1", "touch", ""))).content == "[empty]"


# The model's side


@pytest.mark.parametrize("route", ALL, ids=by_name)
@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('{"city": "Oslo"}', {"city": "Oslo"}),
        ("", {}),
        ('{"city": "Os', {"INVALID_JSON": '{"city": "Os'}),
        ('["Oslo"]', {"INVALID_JSON": '["Oslo"]'}),
        ('{"n": NaN}', {"INVALID_JSON": '{"n": NaN}'}),
        ('{"s": "\\ud800"}', {"INVALID_JSON": '{"s": "\\ud800"}'}),
    ],
)
def test_arguments_reach_every_provider_as_an_object(
    route: ModelRoute, written: str, sent: dict[str, object]
) -> None:
    assert call_of(said_by(route, ToolCall("1", "weather", written))).args == sent


@pytest.mark.parametrize("id", ["a b", "x" * 65, "функция", ""])
def test_an_id_that_a_provider_would_refuse_is_replaced_in_call_and_result(id: str) -> None:
    messages = model_messages(
        [user(Text("hi")), model(ToolCall(id, "f")), user(ToolResult(id, "f", "ok"))], ANTHROPIC
    )
    made = call_of(messages[1].parts).tool_call_id
    assert made == result_of(messages[2].parts).tool_call_id
    assert made.replace("_", "").isalnum()
    assert len(made) <= 64


@pytest.mark.parametrize(
    ("name", "sent"), [("read.file", "_read_file"), ("", "_"), ("ok_1", "ok_1"), ("1st", "_1st")]
)
def test_a_tool_that_was_never_offered_gets_a_name_that_can_be_sent(name: str, sent: str) -> None:
    assert call_of(said_by(OPENAI, ToolCall("1", name))).tool_name == sent


@pytest.mark.parametrize("route", ALL, ids=by_name)
@pytest.mark.parametrize("provider", ["anthropic", "openai", "google", "den", "hut", ""])
def test_thinking_of_another_provider_is_left_out(route: ModelRoute, provider: str) -> None:
    if provider == route.provider:
        return
    for signature in ("sig", "reasoning_content", encode_reasoning(ReasoningItem("rs_1", "data"))):
        parts = said_by(route, Thinking("hm", provider, signature), Text("Yes."))
        assert parts == [TextPart("Yes.")]


@pytest.mark.parametrize("route", ALL, ids=by_name)
def test_thinking_that_nobody_signed_is_left_out(route: ModelRoute) -> None:
    assert said_by(route, Thinking("hm", route.provider), Text("Yes.")) == [TextPart("Yes.")]


@pytest.mark.parametrize("route", ALL, ids=by_name)
def test_a_message_left_without_words_still_takes_its_turn(route: ModelRoute) -> None:
    assert said_by(route, Thinking("hm", "nobody", "sig")) == [TextPart(NO_TEXT)]


@pytest.mark.parametrize("route", [ANTHROPIC, OPENAI, GOOGLE], ids=by_name)
def test_thinking_that_nothing_follows_is_left_out(route: ModelRoute) -> None:
    signature = encode_reasoning(ReasoningItem("rs_1", "data")) if route == OPENAI else "sig"
    parts = said_by(route, Text("Yes."), Thinking("hm", route.provider, signature))
    assert parts == [TextPart("Yes.")]


def test_anthropic_gets_its_signed_thinking_back() -> None:
    thought, _ = said_by(ANTHROPIC, Thinking("hm", "anthropic", "sig"), Text("Yes."))
    assert isinstance(thought, ThinkingPart)
    assert (thought.content, thought.signature, thought.id) == ("hm", "sig", None)


def test_anthropic_gets_withheld_thinking_back_as_such() -> None:
    thought, _ = said_by(ANTHROPIC, Thinking("", "anthropic", REDACTED + "data"), Text("Yes."))
    assert isinstance(thought, ThinkingPart)
    assert (thought.signature, thought.id) == ("data", "redacted_thinking")


def test_openai_gets_reasoning_back_with_the_items_that_it_came_with() -> None:
    seal = encode_reasoning(
        ReasoningItem("rs_1", "data", [("msg_1", "commentary")], {"c1": "fc_1"})
    )
    thought, text, call = said_by(
        OPENAI, Thinking("hm", "openai", seal), Text("I look."), ToolCall("c1", "f")
    )
    assert isinstance(thought, ThinkingPart)
    assert (thought.id, thought.signature, thought.content) == ("rs_1", "data", "hm")
    assert isinstance(text, TextPart)
    assert (text.id, text.provider_details) == ("msg_1", {"phase": "commentary"})
    assert isinstance(call, ToolCallPart)
    assert (call.id, call.tool_call_id) == ("fc_1", "c1")


def test_openai_gets_no_reasoning_whose_content_it_did_not_hand_out() -> None:
    seal = encode_reasoning(ReasoningItem("rs_1"))
    assert said_by(OPENAI, Thinking("hm", "openai", seal), Text("Yes.")) == [TextPart("Yes.")]


def test_a_chat_server_gets_its_thinking_back_in_the_field_that_it_came_in() -> None:
    thought, _ = said_by(DEN, Thinking("hm", "den", "reasoning_content"), Text("Yes."))
    assert isinstance(thought, ThinkingPart)
    assert (thought.id, thought.provider_name) == ("reasoning_content", "den")


def test_once_a_chat_server_thought_every_later_message_has_the_field() -> None:
    messages = [
        user(Text("1")),
        model(Text("2")),
        user(Text("3")),
        model(Thinking("hm", "den", "reasoning"), Text("4")),
        user(Text("5")),
        model(Text("6")),
        user(Text("7")),
    ]
    assert [part.content for part in thoughts(model_messages(messages, DEN))] == ["hm", ""]
