"""Google's own library is content with the server."""

from typing import Any

import pytest

from client_libraries import library
from http_client import SCHEMA, Tree
from scripted_model import ScriptedModel
from scripted_model.wires.gemini import fields

genai = library("google.genai", "google.genai.types", "google.genai.errors")

PROMPT = (
    "[[think: Oslo is north.]] [[say: Let me look.]] [[and]] "
    '[[tools: weather {"city": "Oslo"} weather {"city": "Rome"}]] [[say: Cold in Oslo.]]'
)
CONFIG: Tree = {
    "tools": [{"function_declarations": [{"name": "weather", "parameters_json_schema": SCHEMA}]}],
    "thinking_config": {"include_thoughts": True},
    "automatic_function_calling": {"disable": True},
}


def client(server: ScriptedModel) -> Any:
    return genai.Client(api_key="x", http_options={"base_url": server.gemini_url})


def parts(server: ScriptedModel, model: str, contents: list[Any], *, streams: bool) -> list[Any]:
    request: Tree = {"model": model, "contents": contents, "config": CONFIG}
    with client(server) as google:
        if streams:
            chunks = list(google.models.generate_content_stream(**request))
        else:
            chunks = [google.models.generate_content(**request)]
    assert chunks[-1].candidates[0].finish_reason == genai.types.FinishReason.STOP
    assert chunks[-1].usage_metadata.prompt_token_count > 0
    found = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    return [part for part in found if part.text or part.function_call]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro"])
def test_a_whole_turn_with_tools(server: ScriptedModel, model: str, *, streams: bool) -> None:
    types = genai.types
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=PROMPT)])]
    reply = parts(server, model, contents, streams=streams)
    assert reply[0].thought
    calls = [part.function_call for part in reply if part.function_call]
    assert [call.args for call in calls] == [{"city": "Oslo"}, {"city": "Rome"}]
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                name=call.name, id=call.id, response={"result": "-3"}
            )
        )
        for call in calls
    ]
    contents += [
        types.Content(role="model", parts=reply),
        types.Content(role="user", parts=results),
    ]
    last = parts(server, model, contents, streams=streams)
    assert "".join(part.text for part in last) == "Cold in Oslo."
    assert server.rejections == []


@pytest.mark.parametrize(
    ("prompt", "error"),
    [("[[status: 429]]", "ClientError"), ("[[status: 529]]", "ServerError")],
)
def test_a_failure_is_understood(server: ScriptedModel, prompt: str, error: str) -> None:
    with client(server) as google, pytest.raises(getattr(genai.errors, error)):
        google.models.generate_content(model="gemini-2.5-flash", contents=prompt)


def test_counting_and_listing(server: ScriptedModel) -> None:
    with client(server) as google:
        counted = google.models.count_tokens(model="gemini-2.5-flash", contents="hello")
        assert counted.total_tokens > 0
        assert "models/gemini-3-pro" in [model.name for model in google.models.list()]


def test_the_tables_know_every_field_of_the_library() -> None:
    def names(kind: str) -> set[str]:
        model = getattr(genai.types, kind)
        return {field.alias or name for name, field in model.model_fields.items()}

    assert names("Content") <= fields.CONTENT.allowed
    assert names("Part") <= fields.PART.allowed
    assert names("Tool") <= fields.TOOL.allowed
    assert names("FunctionDeclaration") <= fields.DECLARATION.allowed
    assert names("FunctionCall") <= fields.PARTS["functionCall"].allowed
    assert names("FunctionResponse") <= fields.PARTS["functionResponse"].allowed
    assert names("Schema") <= fields.SCHEMA.allowed
    assert names("ThinkingConfig") <= fields.THINKING.allowed
    assert names("ToolConfig") <= fields.TOOL_CONFIG.allowed
    assert names("FunctionCallingConfig") <= fields.FUNCTION_CALLING.allowed
