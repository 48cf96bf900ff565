"""Anthropic's own library is content with the server."""

import json
from typing import Any

import pytest

from client_libraries import library
from http_client import MODELS, SCHEMA, Tree
from scripted_model import ScriptedModel
from scripted_model.wires.anthropic import fields
from typed_fields import by_discriminator, fields_of, missing_from

anthropic = library("anthropic", "anthropic.types.beta.message_create_params")

MODEL = MODELS["anthropic"]
TOOLS: list[Tree] = [{"name": "weather", "input_schema": SCHEMA}]
PROMPT = (
    "[[think: Oslo is north.]] [[say: Let me look.]] [[and]] "
    '[[tools: weather {"city": "Oslo"} weather {"city": "Rome"}]] [[say: Cold in Oslo.]]'
)


def client(server: ScriptedModel, retries: int = 0) -> Any:
    return anthropic.Anthropic(base_url=server.anthropic_url, api_key="x", max_retries=retries)


def send(server: ScriptedModel, *, streams: bool, **request: Any) -> Any:
    with client(server) as claude:
        messages = claude.messages
        if not streams:
            return messages.create(**request)
        with messages.stream(**request) as stream:
            return stream.get_final_message()


@pytest.mark.parametrize("streams", [False, True])
def test_a_whole_turn_with_tools(server: ScriptedModel, *, streams: bool) -> None:
    request: Tree = {
        "model": MODEL,
        "max_tokens": 4000,
        "tools": TOOLS,
        "thinking": {"type": "adaptive"},
        "messages": [{"role": "user", "content": PROMPT}],
    }
    reply = send(server, streams=streams, **request)
    kinds = [block.type for block in reply.content]
    assert kinds == ["thinking", "text", "tool_use", "tool_use"]
    assert reply.stop_reason == "tool_use"
    assert [block.input for block in reply.content[2:]] == [{"city": "Oslo"}, {"city": "Rome"}]
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "-3"}
        for block in reply.content[2:]
    ]
    content = [json.loads(block.to_json(exclude_none=True)) for block in reply.content]
    for block in content:
        block.pop("parsed_output", None)
    request["messages"] += [
        {"role": "assistant", "content": content},
        {"role": "user", "content": results},
    ]
    assert send(server, streams=streams, **request).content[0].text == "Cold in Oslo."
    assert server.rejections == []


def test_counting_and_listing(server: ScriptedModel) -> None:
    messages = [{"role": "user", "content": "hello"}]
    with client(server) as claude:
        assert claude.messages.count_tokens(model=MODEL, messages=messages).input_tokens > 0
        assert MODEL in [model.id for model in claude.models.list()]


def test_an_overload_is_retried(server: ScriptedModel) -> None:
    messages = [{"role": "user", "content": "[[status: 529 x2]] [[say: ok]]"}]
    reply = client(server, retries=2).messages.create(model=MODEL, max_tokens=10, messages=messages)
    assert reply.content[0].text == "ok"
    assert [logged.status for logged in server.requests] == [529, 529, 200]


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("[[status: 529]]", "OverloadedError"),
        ("[[status: 429]]", "RateLimitError"),
        ("[[status: 500]]", "InternalServerError"),
        ("[[status: 529 at 3]] [[say: It is cold.]]", "APIStatusError"),
        ("[[status: bad]]", "BadRequestError"),
    ],
)
def test_a_failure_is_understood(server: ScriptedModel, prompt: str, error: str) -> None:
    kind = getattr(anthropic, error, anthropic.APIStatusError)
    messages = [{"role": "user", "content": prompt}]
    with pytest.raises(kind):
        send(server, streams=True, model=MODEL, max_tokens=10, messages=messages)


def test_a_dropped_connection_is_noticed(server: ScriptedModel) -> None:
    messages = [{"role": "user", "content": "[[cut: 3]] [[say: It is cold.]]"}]
    with pytest.raises(Exception, match=r"(?i)incomplete|peer closed|connection"):
        send(server, streams=True, model=MODEL, max_tokens=10, messages=messages)


def test_the_tables_know_every_field_of_the_library() -> None:
    stable = anthropic.types.message_create_params.MessageCreateParamsStreaming
    beta = anthropic.types.beta.message_create_params.MessageCreateParamsStreaming
    elsewhere = {"betas", "user_profile_id", "workspace_id"}  # these go as headers
    assert fields_of(stable) - elsewhere <= fields.TOP.allowed
    assert fields_of(beta) - elsewhere <= fields.TOP.allowed | fields.TOP_BETA
    blocks = {**fields.BLOCKS, **fields.BETA_BLOCKS}
    types = by_discriminator(beta)
    assert missing_from({**blocks, **fields.SERVER_TOOLS}, types) == {}
    assert missing_from(fields.BLOCKS, by_discriminator(stable)) == {}
