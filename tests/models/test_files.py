"""Images and files reach every provider that takes them; the others get a text that says so."""

import base64

from sapwood.core.content import File, Text, ToolCall
from sapwood.core.view import Message, Request, ToolResult
from sapwood.models import Models
from scripted_model import ScriptedModel
from tests.models.conversation import MODELS, collect, every_wire

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = File.of(PNG, name="dot.png")


@every_wire
async def test_an_image_in_a_prompt_and_in_a_tool_result_is_sent(
    server: ScriptedModel, models: Models, model: str
) -> None:
    messages = (
        Message("user", (Text("What is it?"), IMAGE)),
        Message("assistant", (ToolCall("c1", "screen"),)),
        Message("user", (ToolResult("c1", "screen", "a screen", files=(IMAGE,)),)),
    )
    await collect(models, Request(model, (), messages))
    assert server.rejections == []
    raw = server.requests[0].raw.translate(bytes.maketrans(b"-_", b"+/"))  # Gemini: URL-safe
    assert raw.count(IMAGE.data.encode()) == 2


@every_wire
async def test_a_file_of_text_is_sent_as_text(
    server: ScriptedModel, models: Models, model: str
) -> None:
    file = File.of(b"The heron nests in trees.", name="notes.md")
    await collect(models, Request(model, (), (Message("user", (Text("Sum it up."), file)),)))
    assert server.rejections == []
    assert b"The heron nests in trees." in server.requests[0].raw


@every_wire
async def test_a_type_that_a_provider_does_not_take_is_a_line_that_says_so(
    server: ScriptedModel, models: Models, model: str
) -> None:
    file = File.of(b"PK\x03\x04\xff\xfe", name="all.zip")
    await collect(models, Request(model, (), (Message("user", (Text("Look."), file)),)))
    assert server.rejections == []
    raw = server.requests[0].raw
    assert b"[file: all.zip, application/zip, 6 bytes] It was not sent" in raw
    assert file.data.encode() not in raw


async def test_a_document_is_sent_where_it_is_taken(server: ScriptedModel, models: Models) -> None:
    file = File.of(b"%PDF-1.4 ...", name="a.pdf")
    for wire in ("messages", "responses", "gemini"):
        messages = (Message("user", (Text("Look."), file)),)
        await collect(models, Request(MODELS[wire], (), messages))
        assert file.data.encode() in server.requests[-1].raw
    assert server.rejections == []
