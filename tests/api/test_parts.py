"""Ordered parts: thoughts, texts, calls and files, stored once and shown in one line."""

from pathlib import Path

import pytest

import sapwood
from sapwood import Agent, File, RefusedError, Text, Thinking, ToolCall, ToolResult
from sapwood.core.file_part import LARGEST_FILE
from tests.api.reading import kinds, said

GIF = b"GIF89a\x80\x02\xe0\x01" + b"." * 4_000


async def test_parts_of_a_reply_keep_their_order(agent: Agent) -> None:
    parts = [
        Thinking("Hm.", "anthropic", "c2ln"),
        Text("Let me look."),
        Thinking("Where?", "anthropic", "c2lo"),
        ToolCall("1", "look"),
    ]
    async with agent.turn("Where is it?") as turn:
        await turn.reply(parts=parts)
        await turn.result("1", "here")
        await turn.reply("Here.")
        with pytest.raises(RefusedError, match="alone"):
            await turn.reply("And more.", parts=parts)
    assert list((await agent.request()).messages[1].parts) == parts


async def test_files_come_in_prompts_results_and_replies(agent: Agent) -> None:
    image = File.of(GIF, name="pond.gif")
    assert (image.media_type, image.width, image.height) == ("image/gif", 640, 480)
    async with agent.turn([Text("What is it?"), image]) as turn:
        await turn.reply(calls=[ToolCall("1", "look")])
        await turn.result("1", "a pond", files=[image])
        await turn.reply(parts=[Text("A pond:"), image])
    first, _, third, last = (await agent.request()).messages
    assert first.parts == (Text("What is it?"), image)
    result = third.parts[0]
    assert isinstance(result, ToolResult)
    assert result.files == (image,)
    assert last.parts == (Text("A pond:"), image)
    budget = await agent.budget()
    assert budget.total.tokens >= 3 * image.tokens
    assert image.tokens == 410


async def test_a_prompt_may_be_a_file_alone(agent: Agent) -> None:
    image = File.of(GIF, name="pond.gif")
    await agent.prompt([image])
    assert (await agent.request()).messages[0].parts == (image,)
    assert await said(agent) == [""]


async def test_a_file_is_stored_once(tmp_path: Path) -> None:
    big = File.of(GIF * 50, name="pond.gif")
    async with sapwood.open(tmp_path / "log.db") as db:
        for _ in range(20):
            await (await db.start()).record([big], "A pond.")
        assert [hit.snippet for hit in await db.search("pond.gif", limit=1)]
    size = sum(file.stat().st_size for file in tmp_path.iterdir())  # noqa: ASYNC240
    assert size < 4 * len(big.data)


@pytest.mark.parametrize(
    "file",
    [
        File("image/png", "not base64!"),
        File("image/png", ""),
        File("png", "aGk="),
        File("image/png\n", "aGk="),
        File("image/png", "A" * ((LARGEST_FILE // 3 + 2) * 4)),
        File("image/png", 5),  # pyright: ignore[reportArgumentType]
    ],
    ids=["no base64", "empty", "no type", "line", "too large", "number"],
)
async def test_what_is_no_file_is_refused(agent: Agent, file: File) -> None:
    before = await kinds(agent)
    with pytest.raises(RefusedError):
        await agent.prompt([file])
    assert await kinds(agent) == before


async def test_content_that_looks_like_a_secret_is_not_changed(agent: Agent) -> None:
    content = b"sk-ant-api03-" + b"A" * 95
    async with agent.turn([File.of(content, name="key.bin", media_type="image/png")]) as turn:
        await turn.reply("Seen.")
    part = (await agent.request()).messages[0].parts[0]
    assert isinstance(part, File)
    assert part.content == content


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xc0", b"RIFF"])
def test_a_damaged_image_has_no_size_and_no_error(content: bytes) -> None:
    assert File.of(content).tokens >= 0
