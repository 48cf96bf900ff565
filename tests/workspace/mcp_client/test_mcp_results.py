"""The result of an MCP tool becomes text; other data is described."""

import pytest

pytest.importorskip("mcp", reason="the library for MCP servers is not installed (extra: mcp)")

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from sapwood.workspace.mcp_client.mcp_toolbox import result_text


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (TextContent(text="oak"), "oak"),
        (
            ImageContent(data="AAAA", mime_type="image/png"),
            "[image, image/png, 3 bytes: not shown]",
        ),
        (AudioContent(data="AA==", mime_type="audio/wav"), "[audio, audio/wav, 1 byte: not shown]"),
        (
            ResourceLink(name="plan", uri="file:///plan", mime_type="text/plain", size=12),
            "[plan: file:///plan (text/plain, 12 bytes)]",
        ),
        (
            EmbeddedResource(resource=TextResourceContents(uri="file:///a", text="oak")),
            "[file:///a]\noak",
        ),
        (
            EmbeddedResource(resource=BlobResourceContents(uri="file:///b", blob="AAAA")),
            "[file:///b, unknown type, 3 bytes: not shown]",
        ),
    ],
)
def test_every_kind_of_content_is_told(block: ContentBlock, told: str) -> None:
    assert result_text(CallToolResult(content=[block])) == told


def test_parts_stand_below_each_other() -> None:
    parts: list[ContentBlock] = [TextContent(text="oak"), TextContent(text="ash")]
    assert result_text(CallToolResult(content=parts)) == "oak\nash"


@pytest.mark.parametrize(
    ("texts", "structured", "told"),
    [
        ([], {"a": 1}, '{"a":1}'),
        (['{"a": 1}'], {"a": 1}, '{"a": 1}'),
        (["42"], {"result": 42}, "42"),
        (["oak"], {"result": "oak"}, "oak"),
        (["oak", "7"], {"result": ["oak", 7]}, "oak\n7"),
        (["One tree."], {"trees": ["oak"]}, 'One tree.\n{"trees":["oak"]}'),
    ],
)
def test_structure_is_shown_where_no_text_says_the_same(
    texts: list[str], structured: object, told: str
) -> None:
    blocks: list[ContentBlock] = [TextContent(text=text) for text in texts]
    assert result_text(CallToolResult(content=blocks, structured_content=structured)) == told


def test_nothing_is_told_as_nothing() -> None:
    assert result_text(CallToolResult(content=[])) == "[no content]"


def test_a_huge_result_ends_at_the_bound() -> None:
    text = result_text(CallToolResult(content=[TextContent(text="x" * 6_000_000)]))
    assert text.endswith("x\n[1,000,000 more characters were left out]")
