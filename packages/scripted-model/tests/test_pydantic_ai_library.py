"""Pydantic AI's models are content with the server, and a turn may go through all of them."""

from typing import Any

import pytest

from client_libraries import library
from http_client import SCHEMA, WIRE_NAMES
from scripted_model import ScriptedModel

pydantic_ai = library(
    "pydantic_ai",
    "pydantic_ai.direct",
    "pydantic_ai.messages",
    "pydantic_ai.models.anthropic",
    "pydantic_ai.models.google",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.anthropic",
    "pydantic_ai.providers.google",
    "pydantic_ai.providers.openai",
    "pydantic_ai.tools",
)
messages = library("pydantic_ai.messages")

PROMPT = (
    "[[think: Oslo is north.]] [[say: Let me look.]] [[and]] "
    '[[tools: weather {"city": "Oslo"} weather {"city": "Rome"}]] '
    '[[tool: weather {"city": "Paris"}]] [[tool: weather]] [[say: Cold in Oslo.]]'
)


def model(server: ScriptedModel, wire: str) -> Any:
    models, providers = pydantic_ai.models, pydantic_ai.providers
    openai = providers.openai.OpenAIProvider(base_url=server.openai_url, api_key="x")
    match wire:
        case "anthropic":
            provider = providers.anthropic.AnthropicProvider(
                base_url=server.anthropic_url, api_key="x"
            )
            return models.anthropic.AnthropicModel("claude-opus-5-5", provider=provider)
        case "responses":
            return models.openai.OpenAIResponsesModel("gpt-5", provider=openai)
        case "chat":
            return models.openai.OpenAIChatModel("gpt-5", provider=openai)
        case _:
            provider = providers.google.GoogleProvider(base_url=server.gemini_url, api_key="x")
            return models.google.GoogleModel("gemini-3-pro", provider=provider)


def parameters() -> Any:
    tool = pydantic_ai.tools.ToolDefinition(name="weather", parameters_json_schema=SCHEMA)
    return pydantic_ai.models.ModelRequestParameters(function_tools=[tool], allow_text_output=True)


async def ask(server: ScriptedModel, wire: str, history: list[Any], *, streams: bool) -> Any:
    request: dict[str, Any] = {"model_request_parameters": parameters()}
    async with model(server, wire) as client:
        if not streams:
            return await pydantic_ai.direct.model_request(client, history, **request)
        async with pydantic_ai.direct.model_request_stream(client, history, **request) as stream:
            async for _ in stream:
                pass
            return stream.get()


async def take_turn(server: ScriptedModel, wires: list[str], *, streams: bool) -> str:
    """One turn of four requests; each goes to the next wire."""
    history: list[Any] = [messages.ModelRequest(parts=[messages.UserPromptPart(PROMPT)])]
    reply: Any = None
    for wire in wires:
        reply = await ask(server, wire, history, streams=streams)
        assert reply.usage.input_tokens > 0
        # What one vendor thought is no business of another's.
        said = [p for p in reply.parts if not isinstance(p, messages.ThinkingPart)]
        calls = [part for part in said if isinstance(part, messages.ToolCallPart)]
        results = [
            messages.ToolReturnPart(
                tool_name=call.tool_name, content="-3", tool_call_id=call.tool_call_id
            )
            for call in calls
        ]
        alone = len(set(wires)) == 1
        kept = reply if alone else messages.ModelResponse(parts=said)
        history += [kept, messages.ModelRequest(parts=results)]
    return "".join(part.content for part in reply.parts if isinstance(part, messages.TextPart))


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_a_turn_with_one_vendor(server: ScriptedModel, wire: str, *, streams: bool) -> None:
    assert await take_turn(server, [wire] * 4, streams=streams) == "Cold in Oslo."
    assert server.rejections == []


@pytest.mark.parametrize("first", range(4))
async def test_a_turn_that_goes_through_all_vendors(server: ScriptedModel, first: int) -> None:
    wires = [WIRE_NAMES[(first + step) % 4] for step in range(4)]
    assert await take_turn(server, wires, streams=True) == "Cold in Oslo."
    assert server.rejections == []
