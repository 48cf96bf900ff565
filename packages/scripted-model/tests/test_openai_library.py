"""OpenAI's own library is content with the server, in both formats."""

import json
from typing import Any

import pytest

from client_libraries import library
from http_client import SCHEMA, Tree
from scripted_model import ScriptedModel
from scripted_model.wires.chat import fields as chat_fields
from scripted_model.wires.responses import fields
from typed_fields import by_discriminator, fields_of, missing_from

openai = library(
    "openai",
    "openai.types.chat.completion_create_params",
    "openai.types.responses.response_create_params",
)

PROMPT = (
    "[[think: Oslo is north.]] [[say: Let me look.]] [[and]] "
    '[[tools: weather {"city": "Oslo"} weather {"city": "Rome"}]] [[say: Cold in Oslo.]]'
)


def client(server: ScriptedModel, retries: int = 0) -> Any:
    return openai.OpenAI(base_url=server.openai_url, api_key="x", max_retries=retries)


def chat(server: ScriptedModel, *, streams: bool, **request: Any) -> Any:
    with client(server) as gpt:
        completions = gpt.chat.completions
        if not streams:
            return completions.create(**request)
        with completions.stream(**request, stream_options={"include_usage": True}) as stream:
            for _ in stream:
                pass
            return stream.get_final_completion()


@pytest.mark.parametrize("streams", [False, True])
def test_a_whole_chat_with_tools(server: ScriptedModel, *, streams: bool) -> None:
    tool: Tree = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
    messages: list[Tree] = [{"role": "user", "content": PROMPT}]
    request: Tree = {"model": "gpt-5", "tools": [tool], "messages": messages}
    reply = chat(server, streams=streams, **request)
    message = reply.choices[0].message
    assert (message.content, reply.choices[0].finish_reason) == ("Let me look.", "tool_calls")
    assert reply.usage.prompt_tokens > 0
    made: list[Tree] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in message.tool_calls
    ]
    cities = [json.loads(call["function"]["arguments"])["city"] for call in made]
    assert cities == ["Oslo", "Rome"]
    messages += [
        {"role": "assistant", "content": message.content, "tool_calls": made},
        *({"role": "tool", "tool_call_id": call["id"], "content": "-3"} for call in made),
    ]
    assert chat(server, streams=streams, **request).choices[0].message.content == "Cold in Oslo."
    assert server.rejections == []


def respond(server: ScriptedModel, *, streams: bool, **request: Any) -> Any:
    with client(server) as gpt:
        if not streams:
            return gpt.responses.create(**request)
        with gpt.responses.stream(**request) as stream:
            for _ in stream:
                pass
            return stream.get_final_response()


@pytest.mark.parametrize("streams", [False, True])
def test_a_whole_response_with_tools(server: ScriptedModel, *, streams: bool) -> None:
    tool: Tree = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}
    items: list[Tree] = [{"role": "user", "content": PROMPT}]
    request: Tree = {
        "model": "gpt-5",
        "tools": [tool],
        "input": items,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto"},
    }
    reply = respond(server, streams=streams, **request)
    kinds = [item.type for item in reply.output]
    assert kinds == ["reasoning", "message", "function_call", "function_call"]
    assert reply.usage.output_tokens_details.reasoning_tokens > 0
    for item in reply.output:
        given = item.to_dict(exclude_none=True)
        given.pop("parsed_arguments", None)
        for part in given.get("content", []):
            part.pop("parsed", None)
        items.append(given)
    items += [
        {"type": "function_call_output", "call_id": item.call_id, "output": "-3"}
        for item in reply.output
        if item.type == "function_call"
    ]
    assert respond(server, streams=streams, **request).output_text == "Cold in Oslo."
    assert server.rejections == []


def test_an_overload_is_retried(server: ScriptedModel) -> None:
    with client(server, retries=2) as gpt:
        reply = gpt.responses.create(model="gpt-5", input="[[status: 529 x2]] [[say: ok]]")
    assert reply.output_text == "ok"
    assert [logged.status for logged in server.requests] == [503, 503, 200]


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("[[status: 429]]", "RateLimitError"),
        ("[[status: 500]]", "InternalServerError"),
        ("[[status: bad]]", "BadRequestError"),
        ("[[status: 503 at 3]] [[say: It is cold.]]", "APIError"),
        ("[[cut: 3]] [[say: It is cold.]]", "APIConnectionError"),
    ],
)
def test_a_failure_is_understood(server: ScriptedModel, prompt: str, error: str) -> None:
    message: Tree = {"role": "user", "content": prompt}
    with pytest.raises(getattr(openai, error)):
        chat(server, streams=True, model="gpt-5", messages=[message])
    with pytest.raises(getattr(openai, error)):
        respond(server, streams=True, model="gpt-5", input=[message])


def test_a_request_that_is_too_long_is_understood() -> None:
    with ScriptedModel(context_limit=100) as server:
        for streams in (False, True):
            with pytest.raises(openai.APIError) as caught:
                respond(server, streams=streams, model="gpt-5", input="x" * 4000)
            assert caught.value.code == "context_length_exceeded"


def test_models_are_listed(server: ScriptedModel) -> None:
    with client(server) as gpt:
        assert "gpt-5" in [model.id for model in gpt.models.list()]


def test_the_tables_know_every_field_of_the_library() -> None:
    chat_types = openai.types.chat.completion_create_params.CompletionCreateParamsStreaming
    assert fields_of(chat_types) <= chat_fields.TOP.allowed
    known = by_discriminator(chat_types)
    assert missing_from(chat_fields.PARTS, known) == {}
    types = openai.types.responses.response_create_params.ResponseCreateParamsStreaming
    assert fields_of(types) <= fields.TOP.allowed
    known = by_discriminator(types)
    assert missing_from(fields.ITEMS, known) == {}
    assert missing_from(fields.PARTS, known) == {}
    assert missing_from(fields.TOOLS, known) == {}
