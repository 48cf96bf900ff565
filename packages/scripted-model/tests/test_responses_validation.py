"""Requests that OpenAI's Responses API rejects and accepts."""

from typing import Any

import pytest

from http_client import SCHEMA, Tree, complaint, violation
from scripted_model.signatures import item_id, sign_text

REPLY = "ab" * 16
RS = item_id("rs", REPLY, 0, thought=False)
FC = item_id("fc", REPLY, 1, thought=True)


def user(content: object = "hello", **more: object) -> Tree:
    return {"role": "user", "content": content, **more}


def call(name: str = "c1", **more: object) -> Tree:
    return {
        "type": "function_call",
        "call_id": name,
        "name": "weather",
        "arguments": "{}",
        **more,
    }


def result(name: str = "c1", **more: object) -> Tree:
    return {"type": "function_call_output", "call_id": name, "output": "-3", **more}


def reasoning(**more: object) -> Tree:
    sealed = sign_text("openai", "hm")
    return {"type": "reasoning", "id": RS, "summary": [], "encrypted_content": sealed, **more}


def body(*items: Tree, **more: object) -> Tree:
    return {"model": "gpt-5", "input": list(items) or [user()], **more}


def says(request: Tree, **more: Any) -> str:
    return complaint("responses", request, **more)


def text(kind: str = "input_text") -> list[Tree]:
    return [{"type": kind, "text": "a"}]


CUSTOM: Tree = {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "x"}
FUNCTION: Tree = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}


@pytest.mark.parametrize(
    "request_",
    [
        body(),
        {"model": "m", "input": "text alone", "instructions": "rules"},
        body({"role": "developer", "content": text()}, user(text(), type="message", id="msg_1")),
        body(user(), {"role": "assistant", "content": "b"}, user()),
        body(user(), {"role": "assistant", "content": text("output_text")}, user()),
        body({"role": "assistant", "content": "I begin."}),
        body(user(), call(), result()),
        body(user(), call("a"), call("b"), result("b"), result("a")),
        body(user(), call("a"), result("a"), call("b"), result("b")),
        body(user(), CUSTOM, {**result(), "type": "custom_tool_call_output"}),
        body(user(), reasoning(), call(id=FC), result()),
        body(user(), reasoning(encrypted_content=None), call(id=FC), result()),
        body(user(), reasoning(), call(id=FC), result(), store=False),
        body(user(), call(id=FC), result(), store=False),
        body(tools=[FUNCTION, {"type": "web_search"}], tool_choice="auto", stream=True),
        body(tools=[FUNCTION], tool_choice={"type": "function", "name": "weather"}),
        body(client_metadata={}, prompt_cache_key="k", store=False, include=[]),
        body({"type": "item_reference", "id": "msg_1"}, user()),
    ],
)
def test_a_valid_request_passes(request_: Tree) -> None:
    assert says(request_) == ""


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"input": "x"}, "Missing required parameter: 'model'."),
        ({"model": "m"}, "Missing required parameter: 'input'."),
        ({"model": "m", "input": 1}, "Invalid type for 'input'"),
        (body(messages=[]), "Unknown parameter: 'messages'."),
        (body(max_tokens=5), "Unknown parameter: 'max_tokens'."),
        (body(reasoning={"budget": 1}), "Unknown parameter: 'reasoning.budget'."),
        (body(text={"form": 1}), "Unknown parameter: 'text.form'."),
        (body(max_output_tokens=5), "Expected a value >= 16"),
        (body(previous_response_id="resp_1"), "Previous response with id 'resp_1' not found."),
    ],
)
def test_the_top_level_is_checked(request_: Tree, message: str) -> None:
    assert message in says(request_)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"type": "magic"}, "Invalid value: 'magic'. Supported values are"),
        ({"role": "tool", "content": "x"}, "Invalid value: 'tool'."),
        ({"role": "user"}, "Missing required parameter: 'input[0].content'."),
        (user(None), "Invalid type for 'input[0].content'"),
        (user(name="me"), "Unknown parameter: 'input[0].name'."),
        (user(text("output_text")), "Invalid value: 'output_text'. Supported values are"),
        (user([{"type": "input_text"}]), "'input[0].content[0].text'"),
        (
            {"role": "assistant", "content": text()},
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        ),
        (call(id="msg_1"), "Expected an ID that begins with 'fc'."),
        (call(id="fc_" + "x" * 62), "Invalid 'input[0].id': string too long."),
        (call("c" * 65), "Invalid 'input[0].call_id': string too long."),
        (call(arguments={}), "Invalid type for 'input[0].arguments': expected a string."),
        (
            {"type": "function_call", "name": "a"},
            "Missing required parameter: 'input[0].arguments'",
        ),
    ],
)
def test_an_item_is_checked_alone(item: Tree, message: str) -> None:
    assert message in says(body(item))


def test_the_output_of_a_call_is_text_or_parts() -> None:
    assert "input[2].output" in says(body(user(), call(), result(output={"a": 1})))


def test_two_items_of_one_id_are_refused() -> None:
    twice = body(user(), call("a", id="fc_1"), result("a"), call("b", id="fc_1"), result("b"))
    assert "Duplicate item found with id fc_1." in says(twice)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([user(), call()], "No tool output found for function call c1."),
        ([user(), call(), user()], "No tool output found for function call c1."),
        ([user(), result()], "No tool call found for function call output with call_id c1."),
        ([user(), result(), call()], "No tool call found for function call output"),
        ([user(), call(), result(), result()], "No tool call found for function call output"),
        (
            [user(), {"type": "custom_tool_call_output", "call_id": "c1", "output": "x"}],
            "No tool call found for custom tool call output with call_id c1.",
        ),
    ],
)
def test_every_call_needs_one_result(items: list[Tree], message: str) -> None:
    assert message in says(body(*items))


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([user(), reasoning(), user()], "without its required following item"),
        ([user(), reasoning()], "without its required following item"),
        ([user(), reasoning(encrypted_content="x"), call(), result()], "could not be verified"),
        (
            [user(), reasoning(encrypted_content=sign_text("anthropic", "hm")), call(), result()],
            "could not be verified",
        ),
        ([user(), call(id=FC), result()], f"without its required 'reasoning' item: '{RS}'."),
    ],
)
def test_reasoning_comes_back_whole(items: list[Tree], message: str) -> None:
    assert message in says(body(*items))


def test_an_item_that_was_not_stored_is_not_found() -> None:
    bare = reasoning(encrypted_content=None)
    found = violation("responses", body(user(), bare, call(), result(), store=False))
    assert found is not None
    assert found.status == 404
    assert "Items are not persisted when `store` is set to false" in found.message
    foreign = reasoning(encrypted_content=None, id="rs_foreign")
    assert "Item with id 'rs_foreign' not found." in says(body(user(), foreign, call(), result()))


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ({"type": "magic"}, "Invalid value: 'magic'."),
        ({"type": "function"}, "Missing required parameter: 'tools[0].name'."),
        ({**FUNCTION, "function": {}}, "Unknown parameter: 'tools[0].function'."),
        ({**FUNCTION, "name": "a b"}, "string does not match pattern"),
        ({**FUNCTION, "parameters": {"type": "x"}}, "Invalid schema for function 'weather'"),
        ({**FUNCTION, "strict": True}, "'additionalProperties' is required"),
        (
            {"type": "namespace", "name": "n", "description": "d", "tools": [{"type": "mcp"}]},
            "Invalid value: 'mcp'.",
        ),
    ],
)
def test_a_tool_is_checked(tool: Tree, message: str) -> None:
    assert message in says(body(tools=[tool]))


def test_a_choice_is_among_the_tools() -> None:
    other = {"type": "function", "name": "other"}
    assert "not found in 'tools'" in says(body(tools=[FUNCTION], tool_choice=other))


def test_compacting_and_counting_take_other_fields() -> None:
    assert says({"model": "m", "input": "x"}, action="compact") == ""
    assert "stream" in says({"model": "m", "input": "x", "stream": True}, action="compact")
    assert says({"input": "x"}, action="count") == ""
