"""Requests that Google's Gemini API rejects and accepts."""

from typing import Any

import pytest

from http_client import SCHEMA, Tree, complaint
from scripted_model.signatures import sign_text

CALL: Tree = {"functionCall": {"name": "weather", "args": {}}}
RESULT: Tree = {"functionResponse": {"name": "weather", "response": {"result": "-3"}}}


def user(*parts: Tree | str) -> Tree:
    return {"role": "user", "parts": [_part(part) for part in parts]}


def model(*parts: Tree | str) -> Tree:
    return {"role": "model", "parts": [_part(part) for part in parts]}


def _part(part: Tree | str) -> Tree:
    return {"text": part} if isinstance(part, str) else part


def body(*contents: Tree, **more: object) -> Tree:
    return {"contents": list(contents) or [user("hello")], **more}


def says(request: Tree, **more: Any) -> str:
    return complaint("gemini", request, **more)


def declared(**more: object) -> list[Tree]:
    return [{"functionDeclarations": [{"name": "weather", **more}]}]


NAMED: Tree = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}}


@pytest.mark.parametrize(
    "request_",
    [
        body(),
        body({"parts": [{"text": "no role"}]}),
        body(user("a"), user("b"), model("c"), user("d")),
        body(user("a"), model(CALL), user(RESULT)),
        body(user("a"), model("look", CALL, CALL), user(RESULT, RESULT)),
        body(user("a"), model({"text": "hm", "thought": True}, "b"), user("c")),
        body(
            user("a"), model({"text": "", "thoughtSignature": sign_text("google", "x")}), user("b")
        ),
        body(systemInstruction={"parts": [{"text": "rules"}]}),
        body(generationConfig={"temperature": 0.5, "thinkingConfig": {"includeThoughts": True}}),
        body(tools=declared(parametersJsonSchema=SCHEMA)),
        body(
            tools=declared(parameters={"type": "OBJECT", "properties": {"a": {"type": "STRING"}}})
        ),
        body(tools=declared(), toolConfig=NAMED),
        body(user("a", {"inlineData": {"mimeType": "image/png", "data": "eA=="}})),
    ],
)
def test_a_valid_request_passes(request_: Tree) -> None:
    assert says(request_) == ""


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "contents is not specified"),
        ({"contents": []}, "contents is not specified"),
        (body(messages=[]), 'Unknown name "messages": Cannot find field.'),
        (body(generationConfig={"maxTokens": 1}), "\"maxTokens\" at 'generation_config'"),
        (
            body(generationConfig={"thinkingConfig": {"effort": 1}}),
            "at 'generation_config.thinking_config'",
        ),
        (body(systemInstruction="rules"), "Invalid value at 'system_instruction'"),
        (body(systemInstruction={"parts": []}), "contents.parts must not be empty"),
    ],
)
def test_the_top_level_is_checked(request_: Tree, message: str) -> None:
    assert message in says(request_)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"role": "assistant", "parts": [{"text": "a"}]}, "Please use a valid role: user, model."),
        ({"role": "system", "parts": [{"text": "a"}]}, "Please use a valid role: user, model."),
        ({"role": "user", "parts": []}, "contents[0].parts: contents.parts must not be empty."),
        ({"role": "user", "content": "a"}, "Unknown name \"content\" at 'contents[0]'"),
        (user(""), "required oneof field 'data' must have one initialized field"),
        (user({"thought": True}), "required oneof field 'data'"),
        (user({"text": "a", **RESULT}), "required oneof field 'data'"),
        (user({"text": 1}), "Invalid value at 'contents[0].parts[0].text'"),
        (user({"type": "text", "text": "a"}), "Unknown name \"type\" at 'contents[0].parts[0]'"),
        (
            user({"functionResponse": {"name": "weather", "response": "-3"}}),
            "Invalid value at 'contents[0].parts[0].function_response.response'",
        ),
        (
            model({"functionCall": {"name": "weather", "args": "{}"}}),
            "Invalid value at 'contents[0].parts[0].function_call.args'",
        ),
        (model({"functionCall": {}}), "name is not specified"),
        (user(CALL), "function call parts are in a turn of the model role"),
        (model(RESULT), "function response parts are in a turn of the user role"),
    ],
)
def test_a_content_is_checked_alone(content: Tree, message: str) -> None:
    assert message in says(body(content))


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ([model(CALL), user(RESULT)], "function call turn comes immediately after a user turn"),
        (
            [user("a"), model("b"), model(CALL), user(RESULT)],
            "function call turn comes immediately after a user turn",
        ),
        ([user("a"), user(RESULT)], "function response turn comes immediately after"),
        ([user("a"), model("b"), user(RESULT)], "function response turn comes immediately after"),
        ([user("a"), model(CALL), user("b")], "number of function response parts is equal"),
        ([user("a"), model(CALL)], "number of function response parts is equal"),
        (
            [user("a"), model(CALL, CALL), user(RESULT)],
            "number of function response parts is equal",
        ),
        (
            [user("a"), model(CALL), user({"functionResponse": {"name": "x", "response": {}}})],
            "number of function response parts is equal",
        ),
        ([model("a"), user("b")], "alternate between user and model"),
        ([user("a"), model("b")], "end with a user role or a function response"),
    ],
)
def test_turns_come_in_order(contents: list[Tree], message: str) -> None:
    assert message in says(body(*contents))


def test_an_id_of_a_response_is_that_of_a_call() -> None:
    called: Tree = {"functionCall": {"name": "weather", "args": {}, "id": "f1"}}
    answered: Tree = {"functionResponse": {"name": "weather", "response": {}, "id": "f2"}}
    assert "'f2' matches no function call" in says(body(user("a"), model(called), user(answered)))


@pytest.mark.parametrize(
    "signature",
    [
        sign_text("google", "x"),
        "skip_thought_signature_validator",
        "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    ],
)
def test_from_gemini_3_on_a_call_carries_its_signature(signature: str) -> None:
    bare = body(user("a"), model(CALL), user(RESULT))
    assert "missing a thought_signature" in says(bare, model="gemini-3-pro")
    signed = body(
        user("a"), model({**CALL, "thoughtSignature": signature}, CALL), user(RESULT, RESULT)
    )
    assert says(signed, model="gemini-3-pro") == ""


def test_only_the_running_turn_needs_signatures() -> None:
    ended = body(user("a"), model(CALL), user(RESULT), model("b"), user("c"))
    assert says(ended, model="gemini-3-pro") == ""


def test_a_foreign_signature_is_refused() -> None:
    foreign = {**CALL, "thoughtSignature": sign_text("anthropic", "x")}
    assert "Corrupted thought signature." in says(body(user("a"), model(foreign), user(RESULT)))


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([{"functions": [1]}], "Unknown name \"functions\" at 'tools[0]'"),
        (declared(name="1st"), "Invalid function name."),
        (declared(input_schema={}), 'Unknown name "inputSchema"'),
        (declared(parameters=SCHEMA, parametersJsonSchema=SCHEMA), "cannot both be set"),
        (
            declared(parameters={"type": "OBJECT"}),
            "properties: should be non-empty for OBJECT type",
        ),
        (declared(parameters={"type": "text"}), "parameters.type' (TYPE_ENUM)"),
        (
            declared(parameters={"type": "object", "properties": {"a": {"type": "array"}}}),
            "items: missing field.",
        ),
        (
            declared(parameters={**SCHEMA, "required": ["town"]}),
            "required[0]: property is not defined",
        ),
        (
            declared(parameters={**SCHEMA, "$schema": "x"}),
            "Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters'",
        ),
        (declared(parametersJsonSchema={"type": "x"}), "invalid JSON schema"),
        ([*declared(), *declared()], "Duplicate function declaration found: weather"),
    ],
)
def test_a_tool_is_checked(tools: list[Tree], message: str) -> None:
    assert message in says(body(tools=tools))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"mode": "MUST"}, "function_calling_config.mode' (TYPE_ENUM)"),
        ({"allowedFunctionNames": ["weather"]}, "only when function calling mode is ANY"),
        ({"mode": "ANY", "allowedFunctionNames": ["x"]}, "not declared: x"),
        ({"names": []}, "at 'tool_config.function_calling_config'"),
    ],
)
def test_the_choice_of_a_tool_is_checked(config: Tree, message: str) -> None:
    chosen = {"functionCallingConfig": config}
    assert message in says(body(tools=declared(), toolConfig=chosen))
