"""What pydantic-ai returns, as a recorded reply."""

from collections.abc import Mapping

import pytest
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.core.view import Message
from sapwood.models.model_routes import ModelRoute, resolve
from sapwood.models.wire.signatures import REDACTED, decode_reasoning
from sapwood_frameworks.pydantic_messages import model_messages, reply_of

ANTHROPIC = resolve("claude-sonnet-5-5")
OPENAI = resolve("gpt-5")
GOOGLE = resolve("gemini-3.8-flash")
DEN = resolve("den:qwen3", {"den": "http://den/v1"})
SIGNED = {"thought_signature": "c2ln"}


def response(
    *parts: ModelResponsePart,
    finish: str | None = "stop",
    details: Mapping[str, str] | None = None,
    usage: RequestUsage | None = None,
) -> ModelResponse:
    return ModelResponse(
        parts=parts,
        model_name="m-1",
        finish_reason=finish,  # pyright: ignore[reportArgumentType]  # as read from a wire
        provider_details=dict(details or {"finish_reason": "x"}),
        usage=usage or RequestUsage(),
    )


def parts_of(route: ModelRoute, *parts: ModelResponsePart) -> tuple[ReplyPart, ...]:
    return reply_of(response(*parts), route).parts


# The answer


def test_a_reply_names_the_model_that_was_called() -> None:
    assert reply_of(response(TextPart("Yes.")), DEN).model == "den:qwen3"


def test_arguments_stay_as_the_model_wrote_them() -> None:
    written = '{"city" : "Oslo", broken'
    (call,) = parts_of(ANTHROPIC, ToolCallPart("weather", written, "t1"))
    assert call == ToolCall("t1", "weather", written)


@pytest.mark.parametrize("args", [None, "", {}])
def test_a_call_without_arguments_has_an_empty_object(args: str | dict[str, object] | None) -> None:
    (call,) = parts_of(ANTHROPIC, ToolCallPart("now", args, "t1"))
    assert call == ToolCall("t1", "now", "{}")


def test_calls_of_one_answer_get_ids_of_their_own() -> None:
    first, second = parts_of(DEN, ToolCallPart("a", "{}", "0"), ToolCallPart("b", "{}", "0"))
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert first.id != second.id


def test_blank_text_is_no_part() -> None:
    assert parts_of(ANTHROPIC, TextPart(" \n"), TextPart("Yes.")) == (Text("Yes."),)


def test_usage_counts_everything_sent() -> None:
    usage = RequestUsage(
        input_tokens=1200, output_tokens=80, cache_read_tokens=1000, cache_write_tokens=100
    )
    answer = reply_of(response(TextPart("Yes."), usage=usage), ANTHROPIC)
    assert answer.usage == Usage(input=1200, output=80, cache_read=1000, cache_write=100)


def test_usage_that_was_not_reported_is_not_made_up() -> None:
    assert reply_of(response(TextPart("Yes.")), DEN).usage is None


def test_anthropic_signs_its_thinking() -> None:
    thought = ThinkingPart("hm", signature="sig", provider_name="anthropic")
    assert parts_of(ANTHROPIC, thought) == (Thinking("hm", "anthropic", "sig"),)


def test_thinking_that_anthropic_withholds_is_kept_without_words() -> None:
    thought = ThinkingPart("", id="redacted_thinking", signature="data", provider_name="anthropic")
    assert parts_of(ANTHROPIC, thought) == (Thinking("", "anthropic", REDACTED + "data"),)


def test_the_field_signs_the_thinking_of_a_chat_server() -> None:
    thought = ThinkingPart("hm", id="reasoning_content", provider_name="den")
    assert parts_of(DEN, thought) == (Thinking("hm", "den", "reasoning_content"),)


def test_the_signature_of_a_call_is_kept_by_the_thought_before_it() -> None:
    call = ToolCallPart("f", {}, "1", provider_name="google", provider_details=SIGNED)
    thought, _ = parts_of(GOOGLE, ThinkingPart("hm"), call)
    assert thought == Thinking("hm", "google", "c2ln")


def test_the_signature_of_a_call_without_a_thought_gets_one_without_words() -> None:
    call = ToolCallPart("f", {}, "1", provider_name="google", provider_details=SIGNED)
    assert parts_of(GOOGLE, call) == (Thinking("", "google", "c2ln"), ToolCall("1", "f", "{}"))


def test_reasoning_of_openai_keeps_the_names_of_what_came_with_it() -> None:
    def thought(text: str, data: str | None) -> ThinkingPart:
        return ThinkingPart(text, id="rs_1", signature=data, provider_name="openai")

    text = TextPart(
        "I look.", id="msg_1", provider_name="openai", provider_details={"phase": "commentary"}
    )
    call = ToolCallPart("f", "{}", "c1", id="fc_1", provider_name="openai")
    said = parts_of(OPENAI, thought("one", "data"), thought("two", None), text, call)
    first, second = said[:2]
    assert isinstance(first, Thinking)
    assert isinstance(second, Thinking)
    held, last = decode_reasoning(first.signature), decode_reasoning(second.signature)
    assert held is not None
    assert last is not None
    assert (held.id, held.data, held.texts) == ("rs_1", "data", [])
    assert (last.texts, last.calls) == ([("msg_1", "commentary")], {"c1": "fc_1"})


@pytest.mark.parametrize(
    ("route", "parts"),
    [
        (
            ANTHROPIC,
            [
                ThinkingPart("hm", signature="sig", provider_name="anthropic"),
                TextPart("I look."),
                ToolCallPart("f", {"a": 1}, "c1"),
            ],
        ),
        (
            OPENAI,
            [
                ThinkingPart("hm", id="rs_1", signature="data", provider_name="openai"),
                TextPart("I look.", id="msg_1", provider_name="openai"),
                ToolCallPart("f", {"a": 1}, "c1", id="fc_1", provider_name="openai"),
            ],
        ),
    ],
)
def test_an_answer_goes_back_as_it_came(route: ModelRoute, parts: list[ModelResponsePart]) -> None:
    said = parts_of(route, *parts)
    back = model_messages([Message("user", (Text("hi"),)), Message("assistant", said)], route)[1]
    assert list(back.parts) == parts
