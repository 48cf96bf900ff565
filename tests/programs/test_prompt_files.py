"""The files of a prompt, as Claude Code and Codex take them."""

import msgspec
import pytest

from sapwood.core.content import File, Text
from sapwood.core.view.request import Message
from sapwood.programs.claude_code.row_forms import prompt_blocks
from sapwood.programs.codex.response_items import items_of_messages

PICTURE = File.of(b"\x89PNG\r\n\x1a\n", name="roof.png")
PDF = File.of(b"%PDF-1.7", name="plan.pdf")
SOUND = File.of(b"ID3", name="rain.mp3")
NOTES = File.of(b"# Nests", name="notes.md")


def codex_content(*parts: Text | File) -> list[dict[str, str]]:
    """The content of the item that Codex gets for a prompt."""
    (item,) = items_of_messages((Message("user", parts),))
    content: list[dict[str, str]] = msgspec.json.decode(item)["content"]
    return content


@pytest.mark.parametrize(
    ("file", "kinds"),
    [
        (PICTURE, ["text", "image"]),
        (PDF, ["text", "document"]),
        (SOUND, ["text"]),
        (NOTES, ["text"]),
    ],
    ids=["picture", "pdf", "sound", "text"],
)
def test_claude_code_gets_the_name_and_the_content_it_can_read(
    file: File, kinds: list[str]
) -> None:
    blocks = prompt_blocks(file)
    assert [block["type"] for block in blocks] == kinds
    assert file.name in blocks[0]["text"]
    for block in blocks[1:]:
        assert block["source"] == {
            "type": "base64",
            "media_type": file.media_type,
            "data": file.data,
        }


@pytest.mark.parametrize(
    ("file", "kinds"),
    [
        (PICTURE, ["input_text", "input_image"]),
        (PDF, ["input_text"]),
        (SOUND, ["input_text"]),
        (NOTES, ["input_text"]),
    ],
    ids=["picture", "pdf", "sound", "text"],
)
def test_codex_gets_the_name_and_the_content_it_can_read(file: File, kinds: list[str]) -> None:
    content = codex_content(file)
    assert [each["type"] for each in content] == kinds
    assert file.name in content[0]["text"]
    for each in content[1:]:
        assert each["image_url"] == f"data:{file.media_type};base64,{file.data}"


def test_a_text_file_is_given_whole_to_both() -> None:
    assert prompt_blocks(NOTES)[0]["text"].endswith("# Nests")
    assert codex_content(NOTES)[0]["text"].endswith("# Nests")


def test_the_parts_of_a_prompt_keep_their_order() -> None:
    texts = [each.get("text", "picture") for each in codex_content(PICTURE, Text("What is it?"))]
    assert texts == [PICTURE.text, "picture", "What is it?"]
