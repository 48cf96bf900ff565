"""Google's Gemini API: replies and streams."""

import pytest

from http_client import (
    SCHEMA,
    Tree,
    ask,
    fetch,
    path_of,
    request_of,
    stream,
    streamed,
)
from scripted_model import ScriptedModel, call, think

TOOLS: list[Tree] = [
    {"functionDeclarations": [{"name": "weather", "parametersJsonSchema": SCHEMA}]}
]
THOUGHTS: Tree = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}


def test_a_response_says_what_the_script_says(server: ScriptedModel) -> None:
    response = ask(server, "gemini", "[[usage: 900]] [[out: 30]] [[say: It is cold.]]").json
    candidate = response["candidates"][0]
    assert candidate["content"] == {"parts": [{"text": "It is cold."}], "role": "model"}
    assert candidate["finishReason"] == "STOP"
    usage = response["usageMetadata"]
    assert (usage["promptTokenCount"], usage["candidatesTokenCount"]) == (900, 30)
    assert usage["totalTokenCount"] == 930


def test_the_last_response_of_a_stream_says_why_it_ended(server: ScriptedModel) -> None:
    got = stream(server, "gemini", "[[say: It is cold in Oslo.]]")
    assert streamed("gemini", got) == "It is cold in Oslo."
    candidates = [data["candidates"][0] for _, data in got.events]
    assert ["finishReason" in candidate for candidate in candidates] == [False, False, True]
    assert len({data["responseId"] for _, data in got.events}) == 1


def test_without_server_sent_events_a_stream_is_a_list(server: ScriptedModel) -> None:
    path = path_of("gemini", stream=True).removesuffix("?alt=sse")
    got = fetch(server, path, request_of("gemini", "[[say: hi]]"))
    assert isinstance(got.json, list)


def test_thoughts_are_shown_if_asked_for(server: ScriptedModel) -> None:
    for more, expected in ((THOUGHTS, [True, None]), ({}, [None])):
        server.replies([[think("hm"), "x"]])
        response = ask(server, "gemini", "hello", **more).json
        parts = response["candidates"][0]["content"]["parts"]
        assert [part.get("thought") for part in parts] == expected
        assert response["usageMetadata"]["thoughtsTokenCount"] == 1


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro"])
def test_calls_and_results_can_be_sent_back(server: ScriptedModel, model: str) -> None:
    body = request_of("gemini", '[[tools: weather {"city": "a"} weather]] [[say: ok]]', tools=TOOLS)
    path = path_of("gemini", model=model)
    content = fetch(server, path, body).json["candidates"][0]["content"]
    calls = [part["functionCall"] for part in content["parts"]]
    assert [call["args"] for call in calls] == [{"city": "a"}, {}]
    signed = ["thoughtSignature" in part for part in content["parts"]]
    assert signed == ([True, False] if model == "gemini-3-pro" else [False, False])
    results = [
        {"functionResponse": {**{k: v for k, v in c.items() if k != "args"}, "response": {"a": 1}}}
        for c in calls
    ]
    body["contents"] += [content, {"role": "user", "parts": results}]
    reply = fetch(server, path, body).json
    assert reply["candidates"][0]["content"]["parts"] == [{"text": "ok"}]
    assert server.rejections == []


def test_names_may_have_underscores(server: ScriptedModel) -> None:
    body: Tree = {
        "contents": [{"parts": [{"text": "[[tool: weather]]"}]}],
        "system_instruction": {"parts": [{"text": "Be brief."}]},
        "generation_config": {"max_output_tokens": 100},
        "tools": [{"function_declarations": [{"name": "weather"}]}],
    }
    assert fetch(server, path_of("gemini"), body).status == 200
    assert server.rejections == []


def test_a_reply_ends_at_the_limit(server: ScriptedModel) -> None:
    settings: Tree = {"maxOutputTokens": 5}
    response = ask(server, "gemini", f"[[say: {'word ' * 50}]]", generationConfig=settings).json
    assert response["candidates"][0]["finishReason"] == "MAX_TOKENS"


def test_a_call_is_not_split(server: ScriptedModel) -> None:
    server.replies([call("weather", city="Oslo" * 40)])
    got = stream(server, "gemini", "hello", tools=TOOLS)
    parts = got.events[0][1]["candidates"][0]["content"]["parts"]
    assert parts[0]["functionCall"]["args"] == {"city": "Oslo" * 40}


def test_tokens_are_counted(server: ScriptedModel) -> None:
    body = request_of("gemini", "x" * 4000)
    path = "/v1beta/models/gemini-2.5-flash:countTokens"
    assert 1000 < fetch(server, path, body).json["totalTokens"] < 1020


def test_models_are_listed(server: ScriptedModel) -> None:
    models = fetch(server, "/v1beta/models", method="GET").json["models"]
    assert all(entry["name"].startswith("models/") for entry in models)
    one = fetch(server, "/v1beta/models/gemini-2.5-flash", method="GET").json
    assert one["name"] == "models/gemini-2.5-flash"
