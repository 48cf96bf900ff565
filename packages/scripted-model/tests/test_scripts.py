"""Replies come from a function, a list, the prompt, or a default."""

import threading

import pytest

from http_client import (
    SCHEMA,
    WIRE_NAMES,
    Tree,
    ask,
    fetch,
    path_of,
    request_of,
    said,
)
from scripted_model import ModelRequest, Reply, ScriptedModel, call, say, think
from scripted_model.conversation import Text, ToolCall

TOOLS: dict[str, list[Tree]] = {
    "anthropic": [{"name": "weather", "input_schema": SCHEMA}],
    "responses": [{"type": "function", "name": "weather", "parameters": SCHEMA}],
    "chat": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
    "gemini": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": SCHEMA}]}],
}


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_without_a_script_the_model_says_ok(server: ScriptedModel, wire: str) -> None:
    assert said(wire, ask(server, wire, "hello")) == "ok"


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_request_that_is_sent_again_gets_the_same_answer(
    server: ScriptedModel, wire: str
) -> None:
    answers = {said(wire, ask(server, wire, "[[say: one]] [[say: two]]")) for _ in range(3)}
    assert answers == {"one"}


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_list_of_replies_is_used_up_in_order(server: ScriptedModel, wire: str) -> None:
    server.replies(["first", say("second"), Reply.of("third"), [think("hm"), "fourth"]])
    said_ = [said(wire, ask(server, wire, "[[say: from the prompt]]")) for _ in range(5)]
    assert said_ == ["first", "second", "third", "fourth", "from the prompt"]


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_function_sees_the_neutral_request(server: ScriptedModel, wire: str) -> None:
    seen: list[ModelRequest] = []

    @server.script
    def answer(request: ModelRequest) -> str:
        seen.append(request)
        return f"You said: {request.prompt}"

    assert answer is not None
    assert said(wire, ask(server, wire, "hello", tools=TOOLS[wire])) == "You said: hello"
    assert seen[0].wire == wire
    assert seen[0].messages[0].parts == (Text("hello"),)
    tool = seen[0].tool("weather")
    assert tool is not None
    assert tool.schema == SCHEMA


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_calls_and_results_are_neutral_too(server: ScriptedModel, wire: str) -> None:
    seen: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        seen.append(request)
        return "ok"

    server.script(answer)
    body = request_of(wire, "How is it?", tools=TOOLS[wire])
    history: dict[str, tuple[str, list[Tree]]] = {
        "anthropic": (
            "messages",
            [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Look:"},
                        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "a"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "-3"}],
                },
            ],
        ),
        "responses": (
            "input",
            [
                {"role": "assistant", "content": "Look:"},
                {
                    "type": "function_call",
                    "call_id": "c1",
                    "name": "weather",
                    "arguments": '{"city":"a"}',
                },
                {"type": "function_call_output", "call_id": "c1", "output": "-3"},
            ],
        ),
        "chat": (
            "messages",
            [
                {
                    "role": "assistant",
                    "content": "Look:",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city":"a"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "-3"},
            ],
        ),
        "gemini": (
            "contents",
            [
                {
                    "role": "model",
                    "parts": [
                        {"text": "Look:"},
                        {"functionCall": {"name": "weather", "args": {"city": "a"}, "id": "c1"}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "functionResponse": {
                                "name": "weather",
                                "response": {"result": "-3"},
                                "id": "c1",
                            }
                        }
                    ],
                },
            ],
        ),
    }
    field, more = history[wire]
    body[field] += more
    assert fetch(server, path_of(wire), body).status == 200
    request = seen[0]
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]
    assert request.messages[1].parts == (Text("Look:"), ToolCall("c1", "weather", '{"city":"a"}'))
    assert [(r.call, r.name, r.content) for r in request.results] == [("c1", "weather", "-3")]


def test_system_prompts_are_kept_apart(server: ScriptedModel) -> None:
    seen: list[str] = []

    def answer(request: ModelRequest) -> str:
        seen.append(request.system)
        return "ok"

    server.script(answer)
    ask(server, "anthropic", "hello", system=[{"type": "text", "text": "Be brief."}])
    ask(server, "responses", "hello", instructions="Be brief.")
    body = request_of("chat", "hello")
    body["messages"].insert(0, {"role": "system", "content": "Be brief."})
    fetch(server, path_of("chat"), body)
    ask(server, "gemini", "hello", systemInstruction={"parts": [{"text": "Be brief."}]})
    assert seen == ["Be brief."] * 4


def test_a_function_may_return_none(server: ScriptedModel) -> None:
    server.script(lambda request: call("weather") if "weather" in request.prompt else None)
    assert ask(server, "chat", "the weather?").json["choices"][0]["finish_reason"] == "tool_calls"
    assert said("chat", ask(server, "chat", "[[say: from the prompt]]")) == "from the prompt"


def test_a_function_may_wait_while_others_are_answered(server: ScriptedModel) -> None:
    go_on = threading.Event()

    def answer(request: ModelRequest) -> str:
        if request.prompt == "slow":
            assert go_on.wait(10)
        return request.prompt

    server.script(answer)
    answers: list[str] = []
    slow = threading.Thread(
        target=lambda: answers.append(said("chat", ask(server, "chat", "slow")))
    )
    slow.start()
    server.wait_for(1)
    assert said("chat", ask(server, "chat", "quick")) == "quick"
    assert answers == []
    go_on.set()
    slow.join()
    assert answers == ["slow"]


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_script_with_a_mistake_is_a_rejection(server: ScriptedModel, wire: str) -> None:
    got = ask(server, wire, "[[status: soon]]")
    assert got.status == 400
    assert "script: [[status: soon]] has a wrong form" in got.text
    assert [rejection.wire for rejection in server.rejections] == [wire]


def test_a_function_that_raises_is_a_rejection(server: ScriptedModel) -> None:
    def answer(request: ModelRequest) -> str:
        raise KeyError(request.prompt)

    server.script(answer)
    assert ask(server, "chat", "hello").status == 500
    assert "KeyError('hello')" in server.rejections[0].message


FORMS: dict[str, Tree] = {
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    "responses": {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}},
    "chat": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    },
    "gemini": {"generationConfig": {"responseJsonSchema": SCHEMA}},
}


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_request_for_json_gets_json(server: ScriptedModel, wire: str) -> None:
    assert said(wire, ask(server, wire, "hello", **FORMS[wire])) == '{"city":"text"}'
    scripted = '[[say: {"city": "Oslo"}]]'
    assert said(wire, ask(server, wire, scripted, **FORMS[wire])) == '{"city": "Oslo"}'


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_request_for_a_summary_gets_a_summary(wire: str) -> None:
    with ScriptedModel(summary="IN SHORT", summary_words=["boil it down"]) as server:
        assert "IN SHORT" in said(wire, ask(server, wire, "Please summarise the conversation."))
        assert said(wire, ask(server, wire, "Now boil it down.")) == "IN SHORT"
        assert said(wire, ask(server, wire, "boil it down [[say: no]]")) == "no"
