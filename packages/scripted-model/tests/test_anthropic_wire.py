"""Anthropic's Messages API: replies and streams."""

import json

from http_client import SCHEMA, Tree, ask, fetch, request_of, stream
from scripted_model import ScriptedModel, call, think

TOOLS = [{"name": "weather", "input_schema": SCHEMA}]


def test_a_message_says_what_the_script_says(server: ScriptedModel) -> None:
    message = ask(server, "anthropic", "[[usage: 900]] [[out: 30]] [[say: It is cold.]]").json
    assert message["id"].startswith("msg_01")
    assert {
        name: message[name] for name in ("type", "role", "model", "content", "stop_reason")
    } == {
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "It is cold."}],
        "stop_reason": "end_turn",
    }
    assert (message["usage"]["input_tokens"], message["usage"]["output_tokens"]) == (900, 30)


def test_the_events_of_a_text_come_in_order(server: ScriptedModel) -> None:
    got = stream(server, "anthropic", "[[say: It is cold in Oslo.]]")
    assert got.headers["content-type"].startswith("text/event-stream")
    assert got.names == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert all(name == data["type"] for name, data in got.events)
    assert [
        data["delta"]["text"] for name, data in got.events if name == "content_block_delta"
    ] == [
        "It is cold in Os",
        "lo.",
    ]
    assert got.events[0][1]["message"]["content"] == []
    assert got.events[-2][1]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}


def test_thinking_text_and_calls_are_blocks_of_one_message(server: ScriptedModel) -> None:
    server.replies([[think("Oslo is north."), "Let me look.", call("weather", city="Oslo")]])
    got = stream(server, "anthropic", "How is the weather?", tools=TOOLS)
    starts = [data for name, data in got.events if name == "content_block_start"]
    assert [start["content_block"]["type"] for start in starts] == ["thinking", "text", "tool_use"]
    assert [start["index"] for start in starts] == [0, 1, 2]
    assert starts[2]["content_block"]["input"] == {}
    deltas = [data["delta"] for name, data in got.events if name == "content_block_delta"]
    kinds = [delta["type"] for delta in deltas]
    assert kinds == ["thinking_delta", "signature_delta", "text_delta", *["input_json_delta"] * 2]
    assert json.loads("".join(d["partial_json"] for d in deltas[3:])) == {"city": "Oslo"}
    assert got.events[-2][1]["delta"]["stop_reason"] == "tool_use"


def test_the_stream_and_the_message_say_the_same(server: ScriptedModel) -> None:
    prompt = '[[think: hm]] [[say: Look:]] [[and]] [[tools: weather {"city": "a"} weather]]'
    message = ask(server, "anthropic", prompt, tools=TOOLS).json
    usage = stream(server, "anthropic", prompt, tools=TOOLS).events[-2][1]["usage"]
    assert [block["type"] for block in message["content"]] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert message["usage"].items() >= usage.items()


def test_a_call_is_answered_and_the_script_goes_on(server: ScriptedModel) -> None:
    body = request_of("anthropic", '[[tool: weather {"city": "Oslo"}]] [[say: Cold.]]', tools=TOOLS)
    block = fetch(server, "/v1/messages", body).json["content"][0]
    result = {"type": "tool_result", "tool_use_id": block["id"], "content": "-3"}
    body["messages"] += [
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": [result]},
    ]
    assert fetch(server, "/v1/messages", body).json["content"][0]["text"] == "Cold."
    assert server.rejections == []


def test_thinking_comes_back_with_its_signature(server: ScriptedModel) -> None:
    body = request_of("anthropic", "[[think: hm]] [[tool: weather]] [[say: Cold.]]", tools=TOOLS)
    body |= {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4000}
    content = fetch(server, "/v1/messages", body).json["content"]
    result = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": "-3"}
    body["messages"] += [
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
    ]
    assert fetch(server, "/v1/messages", body).status == 200


def test_a_model_that_must_think_sends_thinking(server: ScriptedModel) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    message = ask(server, "anthropic", "[[say: x]]", thinking=thinking, max_tokens=4000).json
    assert [block["type"] for block in message["content"]] == ["thinking", "text"]


def test_thinking_that_is_not_displayed_is_only_signed(server: ScriptedModel) -> None:
    thinking = {"type": "adaptive", "display": "omitted"}
    message = ask(server, "anthropic", "[[think: secret]] [[say: x]]", thinking=thinking).json
    assert message["content"][0]["thinking"] == ""
    assert message["content"][0]["signature"]


def test_a_reply_ends_at_the_limit(server: ScriptedModel) -> None:
    message = ask(server, "anthropic", f"[[say: {'word ' * 50}]]", max_tokens=5).json
    assert message["stop_reason"] == "max_tokens"
    assert len(message["content"][0]["text"]) == 20


def test_tokens_are_counted(server: ScriptedModel) -> None:
    body: Tree = {"model": "m", "messages": [{"role": "user", "content": "x" * 4000}]}
    counted = fetch(server, "/v1/messages/count_tokens", body).json
    assert 1000 < counted["input_tokens"] < 1020


def test_models_are_listed(server: ScriptedModel) -> None:
    models = fetch(server, "/v1/models", method="GET").json
    assert {entry["type"] for entry in models["data"]} == {"model"}
    assert models["has_more"] is False
