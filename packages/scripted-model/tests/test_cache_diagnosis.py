"""The server says why its cache could not serve a request."""

from typing import Any

import pytest

from http_client import Got, Tree, fetch
from scripted_model import ScriptedModel

LONG = "word " * 2_000


def messages(*said: str, previous: str | None = None, **more: Any) -> Tree:
    turns = [
        {"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(said)
    ]
    diagnostics = {"previous_message_id": previous}
    base: Tree = {"model": "claude-opus-5-5", "max_tokens": 10, "diagnostics": diagnostics}
    return {**base, "messages": turns, **more}


def responses(*said: str, previous: str | None = None, **more: Any) -> Tree:
    turns = [
        {"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(said)
    ]
    options = {} if previous is None else {"comparison_response_id": previous}
    base: Tree = {"model": "gpt-6-sol", "prompt_cache_key": "a", "store": False}
    return {**base, "prompt_cache_options": options, "input": turns, **more}


def claude(server: ScriptedModel, body: Tree) -> Got:
    return fetch(server, "/v1/messages", body)


def gpt(server: ScriptedModel, body: Tree) -> Got:
    return fetch(server, "/v1/responses", body)


TOOL: Tree = {"name": "a", "input_schema": {"type": "object"}}
FUNCTION: Tree = {"type": "function", "name": "a", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    ("said", "more", "reason"),
    [
        (("one", LONG, "two", "x", "three"), {}, None),
        (("two", "x", "three"), {}, "messages_changed"),
        (("one", LONG, "two"), {"system": "Be brief."}, "system_changed"),
        (("one", LONG, "two"), {"tools": [TOOL]}, "tools_changed"),
        (("one", LONG, "two"), {"model": "claude-opus-5"}, "model_changed"),
    ],
)
def test_anthropic(
    server: ScriptedModel, said: tuple[str, ...], more: Tree, reason: str | None
) -> None:
    first = claude(server, messages("one", LONG, "two")).json
    assert first["diagnostics"] is None
    got = claude(server, messages(*said, previous=first["id"], **more)).json["diagnostics"]
    if reason is None:
        assert got is None
    else:
        assert got["cache_miss_reason"]["type"] == reason
        assert got["cache_miss_reason"]["cache_missed_input_tokens"] > 2_000


@pytest.mark.parametrize(
    ("said", "more", "reason"),
    [
        (("one", LONG, "two", "x", "three"), {}, None),
        (("two", "x", "three"), {}, "input_changed"),
        (("one", LONG, "two"), {"tools": [FUNCTION]}, "tools_changed"),
        (("one", LONG, "two"), {"prompt_cache_key": "b"}, "prompt_cache_key_changed"),
        (("one", LONG, "two"), {"model": "gpt-6-luna"}, "model_changed"),
    ],
)
def test_openai(
    server: ScriptedModel, said: tuple[str, ...], more: Tree, reason: str | None
) -> None:
    first = gpt(server, responses("one", LONG, "two")).json
    assert "prompt_cache_diagnostics" not in first
    body = responses(*said, previous=first["id"], **more)
    got = gpt(server, body).json["prompt_cache_diagnostics"]
    assert (got["type"], got.get("reason")) == ("cache_miss" if reason else "cache_hit", reason)


def test_an_unknown_reply_is_no_error(server: ScriptedModel) -> None:
    got = claude(server, messages("a", previous="msg_none")).json["diagnostics"]
    assert got["cache_miss_reason"] == {"type": "previous_message_not_found"}
    got = gpt(server, responses("a", previous="resp_none")).json["prompt_cache_diagnostics"]
    assert got == {"type": "comparison_response_not_found"}


def test_a_request_that_asks_for_nothing_gets_nothing(server: ScriptedModel) -> None:
    body = messages("a")
    del body["diagnostics"]
    assert "diagnostics" not in claude(server, body).json


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/v1/responses", responses("a", model="gpt-5"), "prompt_cache_options"),
        ("/v1/responses", responses("a", prompt_cache_key="k" * 65), "string too long"),
        (
            "/v1/chat/completions",
            {
                "model": "gpt-6-sol",
                "messages": [{"role": "user", "content": "a"}],
                "prompt_cache_options": {"comparison_response_id": "resp_1"},
            },
            "Unknown parameter",
        ),
        ("/v1/messages", messages("a", diagnostics={"other": 1}), "Extra inputs"),
    ],
)
def test_what_the_apis_reject(server: ScriptedModel, path: str, body: Tree, words: str) -> None:
    got = fetch(server, path, body)
    assert got.status == 400
    assert words in got.text


def test_models_from_gpt_5_6_on_report_what_they_write(server: ScriptedModel) -> None:
    def usage(model: str) -> Tree:
        body: Tree = {"model": model, "input": LONG}
        return gpt(server, body).json["usage"]["input_tokens_details"]

    assert usage("gpt-6-sol")["cache_write_tokens"] > 2_000
    assert usage("gpt-5")["cache_write_tokens"] == 0
