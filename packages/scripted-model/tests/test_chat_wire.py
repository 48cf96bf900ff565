"""OpenAI's Chat Completions API: replies and streams."""

import json

from http_client import SCHEMA, Tree, ask, fetch, request_of, stream
from scripted_model import ScriptedModel, call, think

TOOLS: list[Tree] = [
    {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}},
    {"type": "custom", "custom": {"name": "patch"}},
]


def test_a_completion_says_what_the_script_says(server: ScriptedModel) -> None:
    completion = ask(server, "chat", "[[usage: 900]] [[out: 30]] [[say: It is cold.]]").json
    assert completion["object"] == "chat.completion"
    assert completion["id"].startswith("chatcmpl-")
    choice = completion["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("It is cold.", "stop")
    usage = completion["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (
        900,
        30,
        930,
    )


def test_the_chunks_of_a_text_come_in_order(server: ScriptedModel) -> None:
    got = stream(server, "chat", "[[say: It is cold in Oslo.]]")
    *chunks, (last, _) = got.events
    assert last == "[DONE]"
    assert len({data["id"] for _, data in chunks}) == 1
    deltas = [data["choices"][0]["delta"] for _, data in chunks]
    assert deltas[0] == {"role": "assistant", "content": "", "refusal": None}
    assert [delta["content"] for delta in deltas[1:-1]] == ["It is cold in Os", "lo."]
    assert deltas[-1] == {}
    assert [data["choices"][0]["finish_reason"] for _, data in chunks] == [None, None, None, "stop"]
    assert all("usage" not in data for _, data in chunks)


def test_usage_is_streamed_if_asked_for(server: ScriptedModel) -> None:
    got = stream(server, "chat", "[[say: x]]", stream_options={"include_usage": True})
    *others, (_, final), (done, _) = got.events
    assert done == "[DONE]"
    assert final["choices"] == []
    assert final["usage"]["total_tokens"] > 0
    assert all(data["usage"] is None for _, data in others)


def test_the_arguments_of_parallel_calls_are_streamed_by_index(server: ScriptedModel) -> None:
    server.replies([["Let me look.", call("weather", city="Oslo"), call("weather", city="Rome")]])
    got = stream(server, "chat", "How is the weather?", tools=TOOLS)
    pieces = [
        piece
        for _, data in got.events[:-1]
        for piece in data["choices"][0]["delta"].get("tool_calls", [])
    ]
    opening = [piece for piece in pieces if "id" in piece]
    assert [(piece["index"], piece["function"]["name"]) for piece in opening] == [
        (0, "weather"),
        (1, "weather"),
    ]
    assert all(piece["function"]["arguments"] == "" for piece in opening)
    for index, city in enumerate(("Oslo", "Rome")):
        mine = [piece["function"]["arguments"] for piece in pieces if piece["index"] == index]
        assert json.loads("".join(mine)) == {"city": city}
    assert got.events[-2][1]["choices"][0]["finish_reason"] == "tool_calls"


def test_calls_and_results_can_be_sent_back(server: ScriptedModel) -> None:
    prompt = '[[tools: weather {"city": "Oslo"} patch {"input": "*** x"}]] [[say: Cold.]]'
    body = request_of("chat", prompt, tools=TOOLS)
    message = fetch(server, "/v1/chat/completions", body).json["choices"][0]["message"]
    assert message["tool_calls"][1]["custom"] == {"name": "patch", "input": "*** x"}
    body["messages"] += [
        {"role": "assistant", "tool_calls": message["tool_calls"]},
        *(
            {"role": "tool", "tool_call_id": c["id"], "content": "-3"}
            for c in message["tool_calls"]
        ),
    ]
    reply = fetch(server, "/v1/chat/completions", body).json["choices"][0]["message"]
    assert reply["content"] == "Cold."
    assert server.rejections == []


def test_thinking_shows_only_in_the_usage(server: ScriptedModel) -> None:
    server.replies([[think("a long thought"), "x"]])
    completion = ask(server, "chat", "hello").json
    assert completion["usage"]["completion_tokens_details"]["reasoning_tokens"] == 4
    assert "thought" not in json.dumps(completion["choices"])


def test_a_reply_ends_at_the_limit(server: ScriptedModel) -> None:
    completion = ask(server, "chat", f"[[say: {'word ' * 50}]]", max_completion_tokens=5).json
    assert completion["choices"][0]["finish_reason"] == "length"


def test_models_are_listed(server: ScriptedModel) -> None:
    models = fetch(server, "/v1/models", headers={"anthropic-version": ""}, method="GET")
    assert models.status == 200
    one = fetch(server, "/v1/models/gpt-5", method="GET").json
    assert one["id"] == "gpt-5"
