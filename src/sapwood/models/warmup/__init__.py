"""Warms up a provider's library with one call against a mock transport.

The libraries build their validators at the first request and the first event, which blocks the
process for up to a second. The warm-up does that in the thread that imports them. The files beside
this one are the answers of the mock transport.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import cast

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from sapwood.core.content import Text, ToolCall
from sapwood.core.model_calls import ToolSpec
from sapwood.core.view import Message, ToolResult
from sapwood.models.call_settings import settings_for
from sapwood.models.clients import build_model
from sapwood.models.model_routes import Wire, resolve
from sapwood.models.wire.model_request import instructions, model_messages, tool_definitions

__all__ = ["warm_up", "warm_up_reply"]

_MODELS: Mapping[Wire, str] = {
    "messages": "anthropic:warmup",
    "responses": "openai:warmup",
    "chat": "openai-chat:warmup",
    "gemini": "google:warmup",
}
_TOOL = ToolSpec("look", "Looks.", '{"type":"object","properties":{"at":{"type":"string"}}}')
_MESSAGES = (
    Message("user", (Text("look"),)),
    Message("assistant", (Text("I look."), ToolCall("call_1", "look", '{"at":"it"}'))),
    Message("user", (ToolResult("call_1", "look", "It is there."),)),
)


@cache
def warm_up(wire: Wire) -> None:
    """Warms up a wire format, once per process. Must not run in an event loop."""
    with suppress(Exception):  # a failed warm-up only makes the first call slower
        asyncio.run(warm_up_reply(wire))


async def warm_up_reply(wire: Wire) -> str:
    """Makes the call and returns the text of its answer."""
    route = resolve(_MODELS[wire])
    async with httpx2.AsyncClient(
        transport=httpx2.MockTransport(lambda _: _answer(wire)), timeout=1
    ) as http:
        request_stream = model_request_stream(
            build_model(route, "none", http),
            model_messages(_MESSAGES, route),
            model_settings=cast("ModelSettings", settings_for(wire, {})),
            model_request_parameters=ModelRequestParameters(
                function_tools=tool_definitions([_TOOL]), instruction_parts=instructions(())
            ),
            instrument=False,
        )
        async with request_stream as stream:
            async for _ in stream:
                pass
            return stream.get().text or ""


def _answer(wire: Wire) -> httpx2.Response:
    events = files(__name__).joinpath(f"{wire}.sse").read_bytes()
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=events)
