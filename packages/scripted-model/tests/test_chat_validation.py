"""Requests that OpenAI's Chat Completions API rejects and accepts."""

import pytest

from http_client import SCHEMA, Tree, complaint, violation

TOOL: Tree = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}


def user(content: object = "hello") -> Tree:
    return {"role": "user", "content": content}


def calls(*ids: str, **more: object) -> Tree:
    made = [
        {"id": call, "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        for call in ids
    ]
    return {"role": "assistant", "tool_calls": made, **more}


def result(call: str = "c1", content: object = "-3") -> Tree:
    return {"role": "tool", "tool_call_id": call, "content": content}


def body(*messages: Tree, **more: object) -> Tree:
    return {"model": "gpt-5", "messages": list(messages) or [user()], **more}


def says(request: Tree) -> str:
    return complaint("chat", request)


@pytest.mark.parametrize(
    "request_",
    [
        body(),
        body({"role": "system", "content": "rules"}, {"role": "developer", "content": "x"}, user()),
        body(
            user([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}])
        ),
        body(user(), {"role": "assistant", "content": "b"}, user("")),
        body({"role": "assistant", "content": "I begin."}, user(), user()),
        body(user(), calls("c1"), result()),
        body(user(), calls("c1", "c2", content=None), result("c2"), result("c1"), user()),
        body(user(), {"role": "assistant", "content": None, "refusal": "no"}, user()),
        body(tools=[TOOL], tool_choice="auto", parallel_tool_calls=True),
        body(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "weather"}}),
        body(stream=True, stream_options={"include_usage": True}),
        body(max_completion_tokens=5, reasoning_effort="low", seed=1),
        {**body(max_tokens=5), "model": "llama-3"},
        body(user("as json"), response_format={"type": "json_object"}),
    ],
)
def test_a_valid_request_passes(request_: Tree) -> None:
    assert says(request_) == ""


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"model": "m"}, "Missing required parameter: 'messages'."),
        ({"messages": [user()]}, "Missing required parameter: 'model'."),
        (body(system="rules"), "Unrecognized request argument supplied: system"),
        ({"model": "m", "messages": []}, "Invalid 'messages': empty array."),
        ({"model": "m", "messages": "hi"}, "Invalid type for 'messages'"),
        ({"model": 1, "messages": [user()]}, "Invalid type for 'model'"),
        (body(stream_options={}), "only allowed when 'stream' is enabled"),
        (
            body(stream=True, stream_options={"usage": True}),
            "Unknown parameter: 'stream_options.usage'.",
        ),
        (body(max_tokens=5), "Use 'max_completion_tokens' instead."),
        (
            {**body(max_tokens=5, max_completion_tokens=5), "model": "llama-3"},
            "at the same time is not supported",
        ),
        (body(response_format={"type": "json_object"}), "must contain the word 'json'"),
    ],
)
def test_the_top_level_is_checked(request_: Tree, message: str) -> None:
    assert message in says(request_)


@pytest.mark.parametrize(
    ("message", "complaint_"),
    [
        ({"role": "model", "content": "x"}, "Invalid value: 'model'. Supported values are"),
        ({"role": "user"}, "Missing required parameter: 'messages[0].content'."),
        ({"role": "user", "content": None}, "Invalid value for 'content'"),
        ({"role": "assistant"}, "Invalid value for 'content': expected a string, got null."),
        (user([]), "Invalid 'messages[0].content': empty array."),
        (user([{"type": "input_text", "text": "a"}]), "Invalid value: 'input_text'."),
        (user([{"type": "text"}]), "Missing required parameter: 'messages[0].content[0].text'."),
        ({**user(), "thinking": "x"}, "Unknown parameter: 'messages[0].thinking'."),
        ({"role": "system", "content": [{"type": "image_url"}]}, "Invalid value: 'image_url'."),
        ({"role": "assistant", "content": "x", "tool_calls": []}, "tool_calls': empty array."),
        (
            {"role": "assistant", "tool_calls": [{"id": "c1", "type": "magic"}]},
            "Invalid value: 'magic'.",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function"}]},
            "Missing required parameter: 'messages[0].tool_calls[0].function'.",
        ),
        (
            calls("c" * 41),
            "Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with "
            "maximum length 40, but got a string with length 41 instead.",
        ),
        ({"role": "tool", "content": "x"}, "'messages[0].tool_call_id'"),
    ],
)
def test_a_message_is_checked_alone(message: Tree, complaint_: str) -> None:
    assert complaint_ in says(body(message))


def test_arguments_are_text() -> None:
    message = calls("c1")
    message["tool_calls"][0]["function"]["arguments"] = {"city": "Oslo"}
    assert "arguments': expected a string" in says(body(user(), message, result()))


@pytest.mark.parametrize(
    ("messages", "message", "param"),
    [
        ([user(), calls("c1")], "did not have response messages: c1", "messages.[2].role"),
        ([user(), calls("c1"), user()], "did not have response messages: c1", "messages.[2].role"),
        (
            [user(), calls("c1", "c2"), result("c1"), user(), result("c2")],
            "did not have response messages: c2",
            "messages.[3].role",
        ),
        ([user(), result()], "must be a response to a preceeding message", "messages.[1].role"),
        (
            [user(), calls("c1"), result("c1"), user(), result("c1")],
            "must be a response to a preceeding message",
            "messages.[4].role",
        ),
        (
            [user(), calls("c1"), result("c1"), result("c1")],
            "Duplicate value for 'tool_call_id' of 'c1', in messages[2] and messages[3].",
            "messages.[3].tool_call_id",
        ),
        (
            [user(), calls("c1"), result("other")],
            "'tool_call_id' of 'other' not found",
            "messages.[2].tool_call_id",
        ),
    ],
)
def test_every_call_needs_one_result(messages: list[Tree], message: str, param: str) -> None:
    found = violation("chat", body(*messages))
    assert found is not None
    assert message in found.message
    assert found.param == param


def function(**more: object) -> Tree:
    return {"type": "function", "function": {"name": "weather", "parameters": SCHEMA, **more}}


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([], "Invalid 'tools': empty array."),
        ([{"type": "magic"}], "Invalid value: 'magic'."),
        ([{"type": "function"}], "Missing required parameter: 'tools[0].function'."),
        ([function(name="a b")], "string does not match pattern"),
        ([function(name="a" * 65)], "string too long. Expected a string with maximum length 64"),
        ([function(parameters={"type": "string"})], "schema must be a JSON Schema of 'type: \"obj"),
        ([function(parameters={"type": "object", "properties": 1})], "properties: not an object"),
        ([function(strict=True)], "'additionalProperties' is required to be supplied"),
        ([function(input_schema={})], "Unknown parameter: 'tools[0].function.input_schema'."),
    ],
)
def test_a_tool_is_checked(tools: list[Tree], message: str) -> None:
    assert message in says(body(tools=tools))


def test_a_choice_needs_tools() -> None:
    assert "only allowed when 'tools' are specified" in says(body(tool_choice="auto"))
    other = {"type": "function", "function": {"name": "other"}}
    assert "not among 'tools'" in says(body(tools=[TOOL], tool_choice=other))
