"""One call to nobody, so that the first call to somebody is not slow.

Providers' libraries build their validators when the first request and the first event come by,
which stops everything for up to a second. Here it happens in the thread that loads them. The
answers that nobody gives are the files beside this one.
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

from sapwood.core.calling import ToolSpec
from sapwood.core.content import Text, ToolCall
from sapwood.core.view import Message, ToolResult
from sapwood.models.making import made
from sapwood.models.names import Wire, resolve
from sapwood.models.params import settings_for
from sapwood.models.wire.asking import asked, instructions, offered

__all__ = ["rehearse", "rehearsed"]

_CAST: Mapping[Wire, str] = {
    "messages": "anthropic:rehearsal",
    "responses": "openai:rehearsal",
    "chat": "openai-chat:rehearsal",
    "gemini": "google:rehearsal",
}
_TOOL = ToolSpec("look", "Looks.", '{"type":"object","properties":{"at":{"type":"string"}}}')
_TALK = (
    Message("user", (Text("look"),)),
    Message("assistant", (Text("I look."), ToolCall("call_1", "look", '{"at":"it"}'))),
    Message("user", (ToolResult("call_1", "look", "It is there."),)),
)


@cache
def rehearse(wire: Wire) -> None:
    """Rehearses a wire format, once a process. Not from within an event loop."""
    with suppress(Exception):  # only a first call gets slower
        asyncio.run(rehearsed(wire))


async def rehearsed(wire: Wire) -> str:
    """The words of the answer."""
    route = resolve(_CAST[wire])
    async with httpx2.AsyncClient(
        transport=httpx2.MockTransport(lambda _: _answer(wire)), timeout=1
    ) as http:
        opening = model_request_stream(
            made(route, "none", http),
            asked(_TALK, route),
            model_settings=cast("ModelSettings", settings_for(wire, {})),
            model_request_parameters=ModelRequestParameters(
                function_tools=offered([_TOOL]), instruction_parts=instructions(())
            ),
            instrument=False,
        )
        async with opening as stream:
            async for _ in stream:
                pass
            return stream.get().text or ""


def _answer(wire: Wire) -> httpx2.Response:
    events = files(__name__).joinpath(f"{wire}.sse").read_bytes()
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=events)
