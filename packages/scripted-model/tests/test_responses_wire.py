"""OpenAI's Responses API: replies and streams."""

import json

from http_client import SCHEMA, Tree, ask, fetch, request_of, stream
from scripted_model import ScriptedModel, call, think

FUNCTION: Tree = {"type": "function", "name": "weather", "parameters": SCHEMA}
CUSTOM: Tree = {"type": "custom", "name": "patch"}
NAMESPACE: Tree = {
    "type": "namespace",
    "name": "far",
    "description": "far away",
    "tools": [{**FUNCTION, "name": "distant"}],
}
TOOLS = [FUNCTION, CUSTOM, NAMESPACE]
REASONING: Tree = {
    "reasoning": {"summary": "auto"},
    "include": ["reasoning.encrypted_content"],
}


def test_a_response_says_what_the_script_says(server: ScriptedModel) -> None:
    response = ask(server, "responses", "[[usage: 900]] [[out: 30]] [[say: It is cold.]]").json
    assert response["id"].startswith("resp_")
    assert (response["object"], response["status"]) == ("response", "completed")
    item = response["output"][0]
    assert item["id"].startswith("msg_")
    assert item["content"][0]["text"] == "It is cold."
    usage = response["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (900, 30, 930)


def test_the_events_of_a_text_come_in_order(server: ScriptedModel) -> None:
    got = stream(server, "responses", "[[say: It is cold in Oslo.]]")
    assert got.names == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [data["sequence_number"] for _, data in got.events] == list(range(10))
    assert all(name == data["type"] for name, data in got.events)
    first, last = got.events[0][1]["response"], got.events[-1][1]["response"]
    assert first["id"] == last["id"]
    assert (first["status"], first["output"], first["usage"]) == ("in_progress", [], None)
    assert last["output"][0]["content"][0]["text"] == "It is cold in Oslo."


def test_the_events_of_reasoning_and_calls_come_in_order(server: ScriptedModel) -> None:
    server.replies([[think("hm"), call("weather", city="Oslo"), call("patch", input="*** x")]])
    got = stream(server, "responses", "How is it?", tools=TOOLS, **REASONING)
    assert got.names[2:-1] == [
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.custom_tool_call_input.delta",
        "response.custom_tool_call_input.done",
        "response.output_item.done",
    ]
    added = [data["item"] for name, data in got.events if name == "response.output_item.added"]
    assert [item["type"] for item in added] == ["reasoning", "function_call", "custom_tool_call"]
    assert (added[0]["summary"], added[1]["arguments"], added[2]["input"]) == ([], "", "")
    output = got.events[-1][1]["response"]["output"]
    assert output[0]["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert json.loads(output[1]["arguments"]) == {"city": "Oslo"}
    assert output[2]["input"] == "*** x"


def test_a_tool_of_a_namespace_is_called_with_it(server: ScriptedModel) -> None:
    item = ask(server, "responses", "[[tool: distant]]", tools=TOOLS).json["output"][0]
    assert (item["name"], item["namespace"]) == ("distant", "far")


def test_everything_comes_back_and_is_accepted(server: ScriptedModel) -> None:
    prompt = (
        '[[think: hm]] [[say: Look:]] [[and]] [[tools: weather {"city": "a"} patch]] [[say: ok]]'
    )
    body = request_of("responses", prompt, tools=TOOLS, **REASONING)
    output = fetch(server, "/v1/responses", body).json["output"]
    results = [
        {"type": f"{item['type']}_output", "call_id": item["call_id"], "output": "-3"}
        for item in output
        if "call_id" in item
    ]
    body["input"] += [*output, *results]
    for store in (True, False):
        reply = fetch(server, "/v1/responses", {**body, "store": store}).json
        assert reply["output"][0]["content"][0]["text"] == "ok"
    assert server.rejections == []


def test_text_alone_is_an_input(server: ScriptedModel) -> None:
    body: Tree = {"model": "gpt-5", "instructions": "Be brief.", "input": "[[say: hi]]"}
    output = fetch(server, "/v1/responses", body).json["output"]
    assert output[0]["content"][0]["text"] == "hi"


def test_a_reply_that_ends_at_the_limit_is_incomplete(server: ScriptedModel) -> None:
    got = stream(server, "responses", f"[[say: {'word ' * 50}]]", max_output_tokens=16)
    assert got.names[-1] == "response.incomplete"
    response = got.events[-1][1]["response"]
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}


def test_an_input_can_be_compacted(server: ScriptedModel) -> None:
    body = request_of("responses", "[[say: hi]]")
    compacted = fetch(server, "/v1/responses/compact", body).json
    assert compacted["object"] == "response.compaction"
    assert [item.get("type", "message") for item in compacted["output"]] == [
        "message",
        "compaction",
    ]
    body["input"] = [*compacted["output"], {"role": "user", "content": "go on"}]
    reply = fetch(server, "/v1/responses", body).json
    assert reply["output"][0]["content"][0]["text"] == "done."
    assert server.rejections == []


def test_a_trigger_in_the_input_compacts_in_a_stream(server: ScriptedModel) -> None:
    body = request_of("responses", "[[say: hi]]", stream=True)
    body["input"].append({"type": "compaction_trigger"})
    output = fetch(server, "/v1/responses", body).events[-1][1]["response"]["output"]
    assert [item["type"] for item in output] == ["compaction"]


def test_tokens_are_counted(server: ScriptedModel) -> None:
    counted = fetch(server, "/v1/responses/input_tokens", {"model": "m", "input": "x" * 4000})
    assert 1000 < counted.json["input_tokens"] < 1020
